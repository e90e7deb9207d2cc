import { z } from 'zod'

/** A mail server, from `smtps://user:password@host:port` or `smtp://…`. Undefined if the text is something else. */
export function mailServerOf(text: string) {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isWhole = /^[\w.:-]+$/.test(host) && /^\/?$/.test(url.pathname) && url.hash === ''
  const hasUser = url.username !== ''
  const tls = ({ 'smtps:': 'implicit', 'smtp:': 'required', 'smtp:?tls=off': 'off' } as const)[
    url.protocol + url.search
  ]
  // A password is never sent without encryption.
  if (!isWhole || tls === undefined || hasUser !== (url.password !== '') || (hasUser && tls === 'off')) return
  try {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    return { host, port: Number(url.port) || undefined, tls, auth: hasUser ? { user, pass } : undefined }
  } catch {
    return undefined
  }
}

export const emailAddress = z.email().max(254)

/** A sender, from `address` or `Name <address>`. Undefined if the text is neither. */
export function senderOf(text: string): { name: string; address: string } | undefined {
  const [, name = '', address = text] = /^([^<>"\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? []
  return emailAddress.safeParse(address).success ? { name: name.trim(), address } : undefined
}
