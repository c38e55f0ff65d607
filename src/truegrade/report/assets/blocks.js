// Packed texts: JSON, deflated, in base64 (truegrade.report.chosen_samples). A block is unpacked when it is needed.

const canUnpack = typeof DecompressionStream === "function";

async function unpack(name) {
  const packed = atob(byId(`block-${name}`).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

const opened = new Map();

function block(name) {
  if (!opened.has(name)) opened.set(name, unpack(name).then(JSON.parse));
  return opened.get(name);
}
