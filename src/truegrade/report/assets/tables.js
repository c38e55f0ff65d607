// A table that is wider than its place says so, as long as it is.

const sideways = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const over = target.scrollWidth > target.clientWidth + 1, said = target.previousElementSibling;
    const there = said !== null && said.classList.contains("sideways");
    target.classList.toggle("over", over);
    if (over && !there) target.before(make("p", "sideways", "Scroll sideways for more columns →"));
    if (!over && there) said.remove();
  }
});
for (const node of document.querySelectorAll(".scroll")) sideways.observe(node);
