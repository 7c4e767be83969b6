use thiserror::Error;

/// The error for an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {kind} {found:?}: expected one of {expected}")]
#[non_exhaustive]
pub struct NameError {
    /// The kind of name, such as "style".
    pub kind: &'static str,
    /// The text found.
    pub found: String,
    /// The known names, separated by commas.
    pub expected: String,
}

/// Declares an enum with `ALL`, `name`, `Display`, `FromStr`, `Serialize` and `Deserialize`.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident, $kind:literal {
            $( $(#[$doc:meta])* $Variant:ident = $name:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum $Name {
            $( $(#[$doc])* #[serde(rename = $name)] $Variant, )*
        }

        impl $Name {
            /// All values, in the order of their discriminants (from 0).
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant),*];

            /// The name in text and JSON. The server's messages use the same names for styles,
            /// directions and personalities.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$Variant => $name, )*
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $Name {
            type Err = $crate::game::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|value| value.name() == text).ok_or_else(|| $crate::game::NameError {
                    kind: $kind,
                    found: text.to_owned(),
                    expected: Self::ALL.map(Self::name).join(", "),
                })
            }
        }
    };
}

pub(crate) use named;
