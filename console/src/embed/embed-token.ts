/** The token behind `#token=`. It is removed from the address, so that it is not copied with it. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token !== null) history.replaceState(null, '', location.pathname + location.search)
  return token || null
}

/** Reports tokens that the page around this one sends or puts into the address. */
export function watchTokens(onToken: (token: string) => void): () => void {
  const onMessage = ({ source, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || window.parent === window) return
    const { type, token } = (data ?? {}) as { type?: unknown; token?: unknown }
    if (type === 'wellhead:token' && typeof token === 'string' && token !== '') onToken(token)
  }
  const onHash = () => {
    const token = takeToken()
    if (token !== null) onToken(token)
  }
  addEventListener('message', onMessage)
  addEventListener('hashchange', onHash)
  return () => {
    removeEventListener('message', onMessage)
    removeEventListener('hashchange', onHash)
  }
}

/** Asks the page around this one for a new token. Its origin is unknown here, and the message has no secret. */
export function requestToken(): void {
  if (window.parent !== window) window.parent.postMessage({ type: 'wellhead:expired' }, '*')
}
