import { lookup as lookupHost } from 'node:dns/promises'
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

interface Address {
  address: string
  family: number
}

export type Lookup = (host: string) => Promise<Address[]>

/** Which targets alerts may notify. */
export interface TargetRules {
  /** Entries are `host`, `host:port` or `*.domain`. */
  allowedHosts: readonly string[]
  lookup?: Lookup
}

/** Why a target is refused, as a sentence. */
export class RefusedTarget extends Error {}

export const maxResponseLength = 1000
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
/** Serves settings and secrets to virtual machines in Azure, at an address that looks public. */
const azureHost = '168.63.129.16'

/** The addresses of a target, all of which may be connected to. The connection must use one of them, not the name. */
export async function resolveTarget(target: string, { allowedHosts, lookup = systemLookup }: TargetRules) {
  const url = URL.canParse(target) ? new URL(target) : undefined
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new RefusedTarget('The URL of a target must be complete, such as https://example.com/hook.')
  }
  if (url.username || url.password) {
    throw new RefusedTarget('The URL of a target must not contain a user name or password.')
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await lookup(host).catch(() => [])
  if (addresses.length === 0) throw new RefusedTarget(`The host ${url.hostname} cannot be resolved.`)
  if (isAllowed(url, allowedHosts) || addresses.every(isPublic)) return { url, addresses }
  throw new RefusedTarget(
    `The host ${url.hostname} has an address that is not public. Add it to WELLHEAD_ALERT_HOSTS to allow it.`,
  )
}

function isPublic({ address }: Address): boolean {
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // The library calls everything that it does not know unicast, but only this range is assigned.
  return parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : address !== azureHost
}

function systemLookup(host: string): Promise<Address[]> {
  return lookupHost(host, { all: true, verbatim: true })
}

function isAllowed({ hostname, port, protocol }: URL, allowedHosts: readonly string[]): boolean {
  const names = [hostname, `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
  return allowedHosts.some((entry) =>
    names.some((name) => (entry.startsWith('*.') ? name.endsWith(entry.slice(1)) : name === entry)),
  )
}

/** Returns the status and the beginning of the response. Redirects are not followed. */
export async function postJson(
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  { signal, ...rules }: TargetRules & { signal: AbortSignal },
) {
  const { url, addresses } = await resolveTarget(target, rules)
  const send = url.protocol === 'https:' ? requestTls : requestPlain
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      // Does not resolve the name again: it could have another address by now.
      lookup: (_host: string, _options: unknown, done: (error: null, found: Address[]) => void) =>
        done(null, addresses),
      // Makes the connection ask for all addresses, and try one after the other.
      autoSelectFamily: true,
      agent: false as const,
      signal,
    }
    send(url, options, resolve).on('error', reject).end(body)
  })
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (text.length >= maxResponseLength) break
  }
  return { status: response.statusCode ?? 0, text: text.slice(0, maxResponseLength) }
}
