use clap::Args;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PlaygroundArgs {
    /// Link the pages to the playground at this address, where a game can
    /// be continued from the displayed tick
    #[arg(long, value_name = "URL", value_parser = address)]
    playground: Option<String>,
}

impl PlaygroundArgs {
    pub fn address(&self) -> Option<&str> {
        self.playground.as_deref()
    }
}

/// Accepts `http` and `https` addresses, and paths without a colon, which excludes other schemes
/// such as `javascript:`. Fragments are invalid.
fn address(text: &str) -> Result<String, String> {
    let is_page = text.starts_with("https://") || text.starts_with("http://") || !text.contains(':');
    if is_page && !text.is_empty() && !text.contains(['#', '\n']) {
        Ok(text.to_owned())
    } else {
        Err("expected an address such as https://example.org/playground/index.html".to_owned())
    }
}
