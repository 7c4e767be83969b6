"""MkDocs hook: generates the Python and command-line references, runs the notebooks, and adds the pages
outside docs/. If GETAWAY_PLAYGROUND names the folder of the playground, the site includes it."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import posixpath
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import getaway

PROGRAM = Path(sys.executable).parent / "getaway"
PACKAGE = Path(getaway.__file__).parent
MODULES = {
    "python.md": ("getaway", "__init__.pyi"),
    "python-arena.md": ("getaway.arena", "arena.py"),
    "python-gymnasium.md": ("getaway.gymnasium", "gymnasium.py"),
    "python-levels.md": ("getaway.levels", "levels.py"),
    "python-dataset.md": ("getaway.dataset", "dataset.py"),
    "python-cluster.md": ("getaway.cluster", "cluster.py"),
    "python-stable-baselines3.md": ("getaway.stable_baselines3", "stable_baselines3.py"),
}
# The page of each source outside docs/, except those of the benchmark.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{f"python/getaway/{file}": page for page, (_module, file) in MODULES.items()},
}
LINKED = PAGES | {"README.md": "index.md"}
BENCHMARK = ("*.md", "records.html", "records/**/*.txt", "maps/*.txt")
TOKENS = Path("crates/viewer/src/page/tokens.css")
PLAYGROUND_PAGE = "playground/index.html"
SIGNATURE_COLUMNS = 76


def on_files(files: Files, config: MkDocsConfig) -> Files:
    help_of = {command: Help.parse(help_text(command)) for command in command_names()}
    pages = {page: module_page(module, PACKAGE / file) for page, (module, file) in MODULES.items()}
    pages["python-cluster.md"] += cluster_options(help_of)
    pages["command-line.md"] = command_line_page(help_of)
    for notebook in sorted(Path(config.docs_dir, "notebooks").glob("*.ipynb")):
        pages[f"notebooks/{notebook.stem}.md"] = notebook_page(notebook)
    pages["assets/tokens.css"] = TOKENS.read_text()
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    outside = {page: Path(source) for source, page in PAGES.items() if source.endswith(".md") and Path(source).exists()}
    outside |= {file.as_posix(): file for pattern in BENCHMARK for file in sorted(Path("instances").glob(pattern))}
    playground = Path(os.environ.get("GETAWAY_PLAYGROUND", ""))
    if (playground / "engine.bin").is_file():
        outside |= {f"playground/{file.relative_to(playground).as_posix()}": file for file in sorted(playground.rglob("*.*"))}
    for name, file in outside.items():
        files.append(File.generated(config, name, abs_src_path=str(file.resolve())))
    return files


def on_post_page(output: str, **_: Any) -> str:
    # The theme's search dialog has no name.
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    name = page.file.src_uri
    source = next((source for source, page in PAGES.items() if page == name), name if name.startswith("instances/") else f"docs/{name}")

    def link(match: re.Match[str]) -> str:
        text, path, rest = match.groups()
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        is_on_site = target.startswith("docs/") or target in LINKED or target in files.src_uris
        if not is_on_site and Path(target).exists():
            return text
        target = LINKED.get(target, target.removeprefix("docs/").replace(".ipynb", ".md"))
        return f"[{text}]({posixpath.relpath(target, posixpath.dirname(name) or '.')}{rest})"

    if name == "playground.md" and PLAYGROUND_PAGE in files.src_uris:
        markdown = markdown.replace("\n\n", f"\n\n**[Open the playground]({PLAYGROUND_PAGE})**\n\n", 1)
    # Of a link to a file that is not on the site, such as a source file, only the text stays.
    return re.sub(r"\[([^\]]+)\]\(([^)#:\s]+)([^)]*)\)", link, markdown)


def module_page(name: str, file: Path) -> str:
    tree = ast.parse(file.read_text())
    values = ast.parse((PACKAGE / "values.py").read_text())
    items = {node.name: node for node in [*values.body, *tree.body] if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    parts = [f"# {name}", documentation(tree, name)]
    for exported in exports(tree):
        item = items.get(exported)
        if isinstance(item, ast.ClassDef):
            parts += class_parts(item)
        elif item is not None:
            parts += [f"## {exported}", function_signature(item, exported), documentation(item, exported)]
    aliases = [node for node in tree.body if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"]
    if aliases:
        lines = "\n".join(f"{annotation(alias.target)} = {annotation(alias.value)}" for alias in aliases)
        parts += ["## Types", "Short names in the signatures above:", code(lines)]
    return "\n\n".join(parts) + "\n"


def exports(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise ValueError("a documented module has no __all__")


def class_parts(item: ast.ClassDef) -> list[str]:
    functions = [node for node in item.body if isinstance(node, ast.FunctionDef)]
    constructor = next((node for node in functions if node.name in ("__new__", "__init__")), None)
    heading = function_signature(constructor, item.name) if constructor else code(f"class {item.name}")
    parts = [f"## {item.name}", heading, documentation(item, item.name)]
    rows = list(field_rows(item)) + [
        (node.name, annotation(node.returns), documentation(node, f"{item.name}.{node.name}"))
        for node in functions
        if is_property(node) and not node.name.startswith("_")
    ]
    if rows:
        parts.append(table(("attribute", "type", "meaning"), [(f"`{name}`", f"`{kind}`" if kind else "", text) for name, kind, text in rows]))
    for node in functions:
        has_text = ast.get_docstring(node) is not None
        if not is_property(node) and not node.name.startswith("_") and (has_text or item.name not in ("ChaseEnv", "ChaseVectorEnv", "ChaseVecEnv")):
            name = f"{item.name}.{node.name}"
            parts += [f"### {name}", function_signature(node, node.name), documentation(node, name)]
    return parts


def field_rows(item: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yields the name, type and meaning of each enumeration member, documented field or slot."""
    for node, after in zip(item.body, [*item.body[1:], None]):
        if isinstance(node, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            yield ast.unparse(node.target), annotation(node.annotation), " ".join(str(after.value.value).split())
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and ast.unparse(node.targets[0]) == "__slots__":
            for name, text in ast.literal_eval(node.value).items():
                yield name, "", text
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
            yield ast.unparse(node.targets[0]), "", f"the number {node.value.value}"


def is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)


def annotation(node: ast.expr | None) -> str:
    """Returns a type as text, without the module names `npt` and `getaway` or the underscores of
    private aliases."""
    text = ast.unparse(node) if node else ""
    # Remove the quotes of forward references, but keep those in Literal["..."].
    quoted = re.sub(r"Literal\[.*?\]", lambda match: match[0].replace("'", '"'), text)
    return re.sub(r"'|\b_(?=[A-Z])|\b(?:npt|getaway)\.", "", quoted)


def function_signature(node: ast.FunctionDef, name: str) -> str:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    shown = [parameter(each, value) for each, value in zip(positional, [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults])]
    if {each.arg for each in arguments.posonlyargs} - {"self", "cls"}:
        shown.insert(len(arguments.posonlyargs), "/")
    shown = [each for each in shown if each not in ("self", "cls")]
    if arguments.vararg:
        shown.append("*" + parameter(arguments.vararg, None))
    elif arguments.kwonlyargs:
        shown.append("*")
    shown += [parameter(each, value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        shown.append("**" + parameter(arguments.kwarg, None))
    result = "" if node.name in ("__new__", "__init__") else f" -> {annotation(node.returns)}"
    text = f"{name}({', '.join(shown)}){result}"
    if len(text) > SIGNATURE_COLUMNS:
        text = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){result}"
    return code(text)


def parameter(node: ast.arg, default: ast.expr | None) -> str:
    text = f"{node.arg}: {annotation(node.annotation)}" if node.annotation else node.arg
    return text if default is None else f"{text}{' = ' if node.annotation else '='}{ast.unparse(default)}"


def documentation(node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str) -> str:
    """Returns the docstring as Markdown; an item without a docstring fails the build."""
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"{name} has no docstring")
    return "\n\n".join(map(paragraph, re.split(r"\n\s*\n(?! {4}\S)", text)))


def paragraph(text: str) -> str:
    if text.startswith("    "):
        return code(textwrap.dedent(text))
    section, _, rest = text.partition(":\n")
    if section in ("Args", "Raises") and rest.startswith("    "):
        title = {"Args": "Arguments", "Raises": "Errors"}[section]
        return f"**{title}**\n\n" + definitions(textwrap.dedent(rest))
    if all(re.match(r"[a-z_]+(, [a-z_]+)*: | {4}", line) for line in text.splitlines()):
        return "**Arguments**\n\n" + definitions(text)
    # An indented block after a paragraph is example code.
    before, found, example = text.partition("\n\n    ")
    return f"{before}\n\n{code(textwrap.dedent('    ' + example))}" if found else text


def definitions(text: str) -> str:
    """Converts lines of the form `name, name: text` to a Markdown list. An indented line continues
    the line before it."""
    joined = re.sub(r"\n +", " ", text.strip())
    return "\n".join(
        "- " + ", ".join(f"`{name}`" for name in names.split(", ")) + f": {rest}"
        for names, _, rest in (line.partition(": ") for line in joined.splitlines())
    )


def code(text: str, language: str = "python") -> str:
    return f"```{{.{language} .wrap}}\n{text}\n```"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(" ".join(cell.split()) for cell in line) + " |" for line in lines)


@dataclass
class Help:
    about: list[str] = field(default_factory=list)
    usage: str = ""
    # The terms and their descriptions by section heading, such as "Options".
    sections: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    examples: str = ""

    @classmethod
    def parse(cls, text: str) -> Help:
        found = cls()
        entries: list[list[str]] = []
        for line in text.splitlines():
            if line.startswith("Usage: "):
                found.usage = line.removeprefix("Usage: ")
            elif line and not line.startswith(" ") and line.endswith(":"):
                entries = []
                found.sections[line.removesuffix(":")] = entries  # type: ignore[assignment]
            elif not found.usage:
                found.about.append(line)
            elif line.strip() and not found.sections:
                found.usage += f" {line.strip()}"
            elif re.match(r" {2,6}[-<\[\w]", line):
                entries.append(re.split(r" {2,}", line.strip(), maxsplit=1))
            elif line.strip():
                entries[-1] = [entries[-1][0], " ".join([*entries[-1][1:], line.strip()])]
        found.examples = textwrap.dedent(text.partition("\nExamples:\n")[2]).strip()
        found.sections = {
            title: [(each[0], each[1] if len(each) > 1 else "") for each in entries if each[0] != "-h, --help"]
            for title, entries in found.sections.items()
            if title != "Examples"
        }
        return found


def command_names() -> list[str]:
    return [term for term, _ in Help.parse(help_text()).sections["Commands"] if term != "help"]


def command_line_page(help_of: dict[str, Help]) -> str:
    parts = [
        "# Command line",
        "`getaway COMMAND --help` prints the text of the command's section. Exit codes: 0 for success; 1 for a failed check, planner or bot; 2 for invalid usage or input, or for a file or other resource that cannot be used; 130 for an interrupt.",
        table(("command", "purpose"), [(f"[{name}](#getaway-{name})", each.about[0]) for name, each in help_of.items()]),
    ]
    for name, each in help_of.items():
        parts += [f"## getaway {name}", "\n".join(each.about).strip(), code(each.usage, "text")]
        for title, entries in each.sections.items():
            parts.append(table((title.lower(), "meaning"), [(f"`{term}`", escape(text)) for term, text in entries]))
        if each.examples:
            parts += ["Examples:", code(re.sub(r"(?m)(\S) {2,}(?=\S)", r"\1  # ", each.examples), "sh")]
    return "\n\n".join(parts) + "\n"


def cluster_options(help_of: dict[str, Help]) -> str:
    """Returns the options of the functions in `getaway.cluster`: those of the commands that
    they run, except the options in `without`."""
    parts = ["## Options", "Keyword arguments of each function, in addition to those in its signature:"]
    without = {"--ray", "--json", "--maps", "--planner", "--map", "--add", "--states", "--out", "--markdown"}
    for name in ("eval", "battle", "tournament", "ladder", "dataset"):
        options = [
            (f"`{term.split()[0].removeprefix('--').replace('-', '_')}`", escape(text))
            for entries in help_of[name].sections.values()
            for term, text in entries
            if term.startswith("--") and term.split()[0] not in without
        ]
        parts += [f"### Options of {'evaluate' if name == 'eval' else name}", table(("option", "meaning"), options)]
    return "\n\n" + "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    return re.sub(r"([<>*_|\[\]])", r"\\\1", text)


def help_text(*command: str) -> str:
    return subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True).stdout.strip()


def notebook_page(file: Path) -> str:
    """Runs a notebook; returns a page with its cells, and the output and last value of each."""
    cells = json.loads(file.read_text())["cells"]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *run_cell(source, namespace)]
    parts.append(f"This page is the notebook `docs/notebooks/{file.name}`, run when the site was built.")
    return "\n\n".join(parts) + "\n"


def run_cell(source: str, namespace: dict[str, Any]) -> list[str]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if isinstance(last, ast.Expr) else None
    shown = [code(printed.getvalue().rstrip(), "text")] if printed.getvalue() else []
    # An empty line would end the HTML block in Markdown. Line breaks in a framed page are encoded,
    # not removed, because the page's security policy contains hashes of its style and script.
    for form, line_end in (("_repr_html_", "&#10;"), ("_repr_svg_", " ")):
        drawn = getattr(value, form)() if value is not None and hasattr(value, form) else None
        if drawn:
            return [*shown, '<div class="output">' + drawn.replace("\n", line_end) + "</div>"]
    return [*shown, code(repr(value), "text")] if value is not None else shown
