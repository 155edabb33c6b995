// The state of a page stands in its address: a link shows what its sender saw.

/** The state, each value as text; `defaults` says which names there are. */
export function read(defaults) {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, query.get(name) ?? value]),
  );
}

/** Change some of the state; null and "" leave a name out. The reader's Back is not filled with it. */
export function write(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  if (url.href !== location.href) history.replaceState(null, "", url);
}

/** The last part of the path: the id of what the page is about; as it stands where it is no text. */
export function idOfPage() {
  const last = location.pathname.split("/").at(-1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
