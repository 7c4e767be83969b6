// Replaces the picture with the playground if the site contains the playground. The playground
// needs a web server, so pages that are opened as files keep the picture.
const place = document.getElementById("playground");
if (place && location.protocol !== "file:") {
  const address = new URL("playground/index.html", location.href);
  fetch(address, { method: "HEAD" }).then(({ ok }) => {
    if (!ok) return;
    const frame = document.createElement("iframe");
    frame.src = address;
    frame.title = "The playground: a chase to watch, to play and to solve";
    place.replaceChildren(frame);
  }, () => {});
}
