use std::fs;
use std::path::{Path, PathBuf};

use getaway::files;

use crate::error::{TEXT_BYTES_MAX, at, unreadable};
use crate::{Result, invalid};

pub const PROGRAM: &str = "application.py";
pub const REQUIREMENTS: &str = "requirements.txt";

/// Files and folders that Python, a Mac and Windows leave behind.
const LEFTOVERS: [&str; 4] = ["__pycache__", "__MACOSX", "Thumbs.db", "desktop.ini"];
const FILES_MAX: usize = 1000;
const BYTES_MAX: u64 = 100 << 20;
/// The competition's server runs CPython 3.10 on Linux x86-64 with glibc 2.34.
const PYTHON_MINOR: u32 = 10;
const GLIBC_MINOR: u32 = 34;

/// The files of a bot's folder. Names are sorted, relative to the folder, and use slashes.
#[derive(Debug, Default)]
pub struct Contents {
    pub names: Vec<String>,
    /// Files and folders that do not belong in an upload, such as caches and virtual environments.
    pub left_out: Vec<String>,
    /// Links among `names`, each with the file whose content will be packaged.
    pub links: Vec<(String, PathBuf)>,
    bytes: u64,
}

impl Contents {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut contents = Self::default();
        contents.add(folder, "")?;
        contents.names.sort();
        contents.left_out.sort();
        contents.links.sort();
        Ok(contents)
    }

    fn add(&mut self, folder: &Path, prefix: &str) -> Result {
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let path = entry.path();
            let is_unsafe = |character: char| character == '\\' || character.is_control();
            let name = entry.file_name().into_string().ok().filter(|name| !name.contains(is_unsafe));
            let expected = "expected file names in UTF-8 without backslashes and control characters";
            let name = name.ok_or_else(|| at(&path, expected))?;
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            let full_name = format!("{prefix}{name}");
            let is_environment = kind.is_dir() && path.join("pyvenv.cfg").exists();
            let is_leftover = LEFTOVERS.contains(&&*name) || name.ends_with(".pyc") || name.ends_with(".zip");
            if name.starts_with('.') || is_leftover || is_environment || kind.is_symlink() && !path.is_file() {
                self.left_out.push(full_name);
            } else if kind.is_dir() {
                self.add(&path, &format!("{full_name}/"))?;
            } else {
                files::check(&path, BYTES_MAX).map_err(|error| unreadable(&path, &error))?;
                self.bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
                if kind.is_symlink() {
                    let file = fs::canonicalize(&path).map_err(|error| unreadable(&path, &error))?;
                    self.links.push((full_name.clone(), file));
                }
                self.names.push(full_name);
            }
            if self.names.len() > FILES_MAX || self.bytes > BYTES_MAX {
                let (folder, limit) = (folder.display(), BYTES_MAX >> 20);
                return Err(invalid!(
                    "{folder}: more than {FILES_MAX} files or {limit} MiB: expected a folder with nothing but the bot"
                ));
            }
        }
        Ok(())
    }

    pub fn has_requirements(folder: &Path) -> bool {
        files::read_text(folder.join(REQUIREMENTS), TEXT_BYTES_MAX)
            .is_ok_and(|text| requirements(&text).next().is_some())
    }

    pub fn problems(&self, folder: &Path) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.has(PROGRAM) {
            problems.push(format!("no {PROGRAM}: expected the bot's program under this name{}", self.advice()));
        }
        let wheels: Vec<&str> = self.names.iter().map(String::as_str).filter(|name| name.ends_with(".whl")).collect();
        problems.extend(wheels.iter().filter_map(|wheel| wheel_problem(wheel)));
        if !self.has(REQUIREMENTS) {
            problems.push(format!(
                "no {REQUIREMENTS}: expected the packages that the bot imports, one per line; empty if there are none"
            ));
            return problems;
        }
        let (mut named, mut lists) = (Vec::new(), vec![REQUIREMENTS.to_owned()]);
        for at in 0.. {
            let Some(list) = lists.get(at).cloned() else { break };
            let text = files::read_text(folder.join(&list), TEXT_BYTES_MAX).unwrap_or_else(|error| {
                problems.push(format!("cannot read {list}: {error}"));
                String::new()
            });
            for (number, line) in requirements(&text) {
                let words: Vec<&str> = line.split([' ', '\t', '=']).filter(|word| !word.is_empty()).collect();
                let last = words.last().map_or(line, |word| word.strip_prefix("./").unwrap_or(word));
                let is_outside = |word: &&str| {
                    // pip needs no space after a short option.
                    let path = word.strip_prefix('-').and_then(|rest| rest.get(1..)).unwrap_or(word);
                    path.starts_with('/') || word.contains("../") || word.contains("file:")
                };
                let is_list = matches!(words[0], "-r" | "-c" | "--requirement" | "--constraint");
                if words.iter().any(is_outside) {
                    problems.push(format!("{list}, line {number}: {line} is outside the upload"));
                } else if (is_list || last.ends_with(".whl")) && !last.contains("://") {
                    // pip looks for a list in the folder of the list that names it.
                    let folder = list.rfind('/').filter(|_| is_list).map_or("", |end| &list[..=end]);
                    let file = format!("{folder}{last}");
                    if !self.has(&file) {
                        problems.push(format!("{list}, line {number}: {file} is not in the folder"));
                    } else if is_list && !lists.contains(&file) {
                        lists.push(file.clone());
                    }
                    named.push(file);
                }
            }
        }
        let is_unnamed = |wheel: &&&str| !named.iter().any(|name| name == **wheel);
        problems.extend(wheels.iter().filter(is_unnamed).map(|wheel| {
            format!("{wheel} would not be installed: {REQUIREMENTS} does not name it (expected a line ./{wheel})")
        }));
        problems
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|found| found == name)
    }

    fn advice(&self) -> String {
        let inner = self.names.iter().find_map(|name| name.strip_suffix(&format!("/{PROGRAM}")));
        let mut programs = self.names.iter().filter(|name| name.ends_with(".py") && !name.contains('/'));
        match (inner, programs.next(), programs.next()) {
            (Some(inner), ..) => format!("; there is one in {inner}, so package that folder"),
            (None, Some(program), None) => format!("; rename {program}"),
            _ => String::new(),
        }
    }
}

fn requirements(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line.split(" #").next().unwrap_or_default().trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns an error message if the wheel's name is malformed, or its tags do not match the server.
fn wheel_problem(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".whl")?;
    let tags: Vec<&str> = stem.rsplitn(4, '-').collect();
    let [platform, abi, python, _] = tags[..] else {
        return Some(format!("{name}: expected a wheel named NAME-VERSION-PYTHON-ABI-PLATFORM.whl"));
    };
    if !platform.split('.').any(has_platform) {
        return Some(format!("{name} is for {platform}: expected Linux x86-64 with glibc 2.{GLIBC_MINOR} or older"));
    }
    let is_suitable = |python: &str| abi.split('.').any(|abi| has_python(python, abi));
    if !python.split('.').any(is_suitable) {
        return Some(format!("{name} is for {python}-{abi}: expected CPython 3.{PYTHON_MINOR}"));
    }
    None
}

fn has_platform(tag: &str) -> bool {
    let Some(system) = tag.strip_suffix("_x86_64") else { return tag == "any" };
    let minor = system.strip_prefix("manylinux_2_").and_then(|minor| minor.parse::<u32>().ok());
    matches!(system, "linux" | "manylinux1" | "manylinux2010" | "manylinux2014")
        || minor.is_some_and(|minor| minor <= GLIBC_MINOR)
}

fn has_python(python: &str, abi: &str) -> bool {
    let minor = |prefix| python.strip_prefix(prefix).and_then(|minor: &str| minor.parse::<u32>().ok());
    match (minor("cp3"), minor("py3")) {
        (Some(minor), _) if abi == "abi3" => minor <= PYTHON_MINOR,
        (Some(minor), _) => minor == PYTHON_MINOR && (abi == "none" || abi == format!("cp3{PYTHON_MINOR}")),
        (None, Some(minor)) => minor <= PYTHON_MINOR && abi == "none",
        (None, None) => python == "py3" && abi == "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        folder
    }

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let folder = folder(files);
        Contents::read(folder.path()).expect("files").problems(folder.path())
    }

    #[test]
    fn caches_hidden_files_and_environments_are_left_out() {
        let folder = folder(&[
            (PROGRAM, ""),
            (REQUIREMENTS, "# none\n\n"),
            ("maps/one.txt", ""),
            (".git/config", ""),
            ("._application.py", ""),
            ("__MACOSX/._application.py", ""),
            ("maps/Thumbs.db", ""),
            ("__pycache__/a.pyc", ""),
            ("old.zip", ""),
            ("env/pyvenv.cfg", ""),
        ]);
        let mut left_out =
            vec!["._application.py", ".git", "__MACOSX", "__pycache__", "env", "maps/Thumbs.db", "old.zip"];
        #[cfg(unix)]
        for (name, target) in
            [("to a device", "/dev/zero"), ("to a folder", "maps"), ("to itself", "to itself"), ("to nothing", "gone")]
        {
            std::os::unix::fs::symlink(target, folder.path().join(name)).expect("a link");
            left_out.push(name);
        }
        let contents = Contents::read(folder.path()).expect("files");
        assert_eq!(contents.names, [PROGRAM, "maps/one.txt", REQUIREMENTS]);
        assert_eq!(contents.left_out, left_out);
        assert_eq!(contents.problems(folder.path()), Vec::<String>::new());
        assert!(!Contents::has_requirements(folder.path()));
    }

    #[test]
    fn missing_files_are_named_with_advice() {
        let [program, requirements] = &problems(&[("bot.py", "")])[..] else { panic!("two problems") };
        assert_eq!(program, "no application.py: expected the bot's program under this name; rename bot.py");
        assert!(requirements.starts_with("no requirements.txt: expected the packages"));
        let inner = problems(&[("bot/application.py", ""), (REQUIREMENTS, "")]);
        assert!(inner[0].ends_with("; there is one in bot, so package that folder"), "{inner:?}");
    }

    #[test]
    fn wheels_must_be_named_and_fit_the_server() {
        let wheel = "own-1.0-py3-none-any.whl";
        let of = |requirements| problems(&[(PROGRAM, ""), (wheel, ""), (REQUIREMENTS, requirements)]);
        assert_eq!(of("./own-1.0-py3-none-any.whl\n"), Vec::<String>::new());
        assert!(of("").concat().starts_with("own-1.0-py3-none-any.whl would not be installed"));
        let lists = [
            ("application.py", ""),
            (REQUIREMENTS, "-r more.txt\n-c gone.txt"),
            ("more.txt", "-r more.txt\n-r /r.txt\n-r inner/a.txt"),
            ("inner/a.txt", "-r b.txt\n-r gone.txt"),
            ("inner/b.txt", "--index-url=https://example.org\n-r /b.txt"),
        ];
        assert_eq!(
            problems(&lists),
            [
                "requirements.txt, line 2: gone.txt is not in the folder",
                "more.txt, line 2: -r /r.txt is outside the upload",
                "inner/a.txt, line 2: inner/gone.txt is not in the folder",
                "inner/b.txt, line 2: -r /b.txt is outside the upload"
            ]
        );
        for line in [
            "--find-links=/wheels",
            "--find-links /wheels",
            "x @ file:///x.whl",
            "-r ../more.txt",
            "-r/more.txt",
            "-c\t/more.txt",
            "-f/wheels",
        ] {
            assert!(of(line).concat().contains(&format!("line 1: {line} is outside the upload")), "{line}");
        }
        assert_eq!(
            of("own-1.0-py3-none-any.whl\n./gone.whl # local\n../other"),
            [
                "requirements.txt, line 2: gone.whl is not in the folder",
                "requirements.txt, line 3: ../other is outside the upload"
            ]
        );
    }

    #[test]
    fn wheel_tags_are_compared_with_the_server() {
        for fits in [
            "a-1-py3-none-any.whl",
            "a-1-py2.py3-none-any.whl",
            "a-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "a-1-cp38-abi3-manylinux_2_34_x86_64.whl",
            "a-1-1-cp310-abi3-linux_x86_64.whl",
        ] {
            assert_eq!(wheel_problem(fits), None);
        }
        for (name, found) in [
            ("a-1-cp312-cp312-manylinux2014_x86_64.whl", "cp312-cp312: expected CPython 3.10"),
            ("a-1-cp311-abi3-any.whl", "cp311-abi3: expected CPython 3.10"),
            ("a-1-cp310-cp310-macosx_11_0_arm64.whl", "macosx_11_0_arm64: expected Linux x86-64"),
            ("a-1-cp310-cp310-manylinux_2_39_x86_64.whl", "manylinux_2_39_x86_64: expected Linux x86-64"),
            ("a-1-cp310-cp310-musllinux_1_2_x86_64.whl", "musllinux_1_2_x86_64: expected Linux x86-64"),
            ("a-1.whl", "expected a wheel named NAME-VERSION"),
        ] {
            let problem = wheel_problem(name).expect("a problem");
            assert!(problem.contains(found), "{problem}");
        }
    }
}
