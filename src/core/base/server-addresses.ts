import { trimEndOf } from './text/trim-end.ts'
export interface ServerAddress {
  /** Without user and password. */
  url: URL
  user: string
  password: string
}

/** Reads comma-separated URLs, and throws if one is none. An address without a user has the one of the first. */
export function serverAddresses(
  text: string,
  /** Override those in the URLs. */
  credentials: { [name in 'user' | 'password']?: string | undefined } = {},
): [ServerAddress, ...ServerAddress[]] {
  const byUrl = new Map<string, ServerAddress>()
  let first: ServerAddress | undefined
  for (const part of text.split(',')) {
    const url = new URL(part.trim())
    // A URL may have a host such as "a;b".
    if (!/^https?:$/.test(url.protocol) || !/^[\w.:[\]-]+$/.test(url.hostname)) {
      throw new Error('The address is not an http:// or https:// URL with the name of a host.')
    }
    const named = url.username !== '' || url.password !== ''
    const written = {
      user: decodeURIComponent(url.username) || 'default',
      password: decodeURIComponent(url.password),
    }
    const { user, password } = first && !named ? first : written
    url.username = ''
    url.password = ''
    url.pathname = trimEndOf(url.pathname, '/')
    const address = { url, user: credentials.user ?? user, password: credentials.password ?? password }
    first ??= address
    if (!byUrl.has(url.href)) byUrl.set(url.href, address)
  }
  return [...byUrl.values()] as [ServerAddress, ...ServerAddress[]]
}
