/** Of the address as it was written, without what is asked for behind it: that may hold values. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
