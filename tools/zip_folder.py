"""Zips files of FOLDER. Reads their names from standard input, each followed by a NUL. Uses a fixed
timestamp, so that equal files give equal zips. If a name is not a plain path within the folder, or
if a Python file does not compile, prints the errors and writes no zip.

    python zip_folder.py FOLDER ZIP <NAMES
"""

import pathlib, stat, sys, warnings, zipfile

folder, target = map(pathlib.Path, sys.argv[1:])
names = sorted(sys.stdin.buffer.read().decode().split("\0")[:-1])
errors = []
warnings.simplefilter("ignore")
for name in names:
    if "\\" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
        errors.append(f"{name!r}: expected a path within the folder")
    elif name.endswith(".py"):
        try:
            compile((folder / name).read_bytes(), name, "exec", dont_inherit=True)
        except SyntaxError as error:
            errors.append(f"{name}, line {error.lineno}: {error.msg}")
        except ValueError as error:
            errors.append(f"{name}: {error}")
if errors:
    sys.stdout.buffer.write("\n".join(errors).encode())
    sys.exit(1)
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
    for name in names:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        archive.writestr(entry, (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)
