// Replaces the picture with the playground's board if the site contains the playground. The
// playground needs a web server, so pages that are opened as files keep the picture.
const place = document.getElementById("playground");
if (place && location.protocol !== "file:") {
  const isDark = () => document.body.dataset.mdColorScheme === "slate";
  const theme = () => (isDark() ? "dark" : "light");
  const address = new URL("playground/index.html", location.href);
  fetch(address, { method: "HEAD" }).then(({ ok }) => {
    if (!ok) return;
    const frame = document.createElement("iframe");
    frame.src = `${address}?embed&theme=${theme()}`;
    frame.title = "The playground: a chase to drive in with the arrow keys";
    frame.allow = "fullscreen";
    // Without the focus, the arrow keys would scroll the site's page.
    frame.addEventListener("load", () => frame.focus({ preventScroll: true }));
    new MutationObserver(() => frame.contentWindow.postMessage({ theme: theme() }, location.origin)).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    place.replaceChildren(frame);
  }, () => {});
}
// The theme adds a landmark without a name to every block of code.
const unmark = () => document.querySelectorAll("nav.md-code__nav").forEach((nav) => nav.setAttribute("role", "none"));
new MutationObserver(unmark).observe(document.body, { childList: true, subtree: true });
