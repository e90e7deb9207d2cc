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

/** Reports parameters that the page around this one chooses. */
export function watchParameters(onParameters: (parameters: Record<string, string>) => void): () => void {
  const onMessage = ({ source, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || window.parent === window) return
    const { type, parameters } = (data ?? {}) as { type?: unknown; parameters?: unknown }
    if (type !== 'wellhead:parameters' || typeof parameters !== 'object' || parameters === null) return
    const texts = Object.entries(parameters).filter(([, value]) => typeof value !== 'object')
    onParameters(Object.fromEntries(texts.map(([name, value]) => [name, String(value)])))
  }
  addEventListener('message', onMessage)
  return () => removeEventListener('message', onMessage)
}

/** Tells the page around this one what is shown. Its origin is unknown here, and the message has no secret. */
export function tellParent(message: { type: string; [field: string]: unknown }): void {
  if (window.parent !== window) window.parent.postMessage(message, '*')
}

/** Tells the height of the page whenever it changes, so that a frame needs no scroll bar. */
export function tellHeight(): () => void {
  const observer = new ResizeObserver(() =>
    tellParent({ type: 'wellhead:height', height: Math.ceil(document.body.getBoundingClientRect().height) }),
  )
  observer.observe(document.body)
  return () => observer.disconnect()
}

/** Asks the page around this one for a new token. Its origin is unknown here, and the message has no secret. */
export function requestToken(): void {
  tellParent({ type: 'wellhead:expired' })
}
