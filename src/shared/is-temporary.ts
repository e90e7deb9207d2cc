/** Whether a request may succeed later: 0 if nothing responded. Proxies have statuses of their own above 500. */
export function isTemporary(status: number): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500
}
