//! Maps on disk, and maps that are made: `layout.png` + `meta.json` to a named layout, and the generator.
