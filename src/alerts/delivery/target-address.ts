import { lookup as lookupHost } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

export interface Address {
  address: string
  family: number
}

export type Lookup = (host: string) => Promise<Address[]>

export const systemLookup: Lookup = (host) => lookupHost(host, { all: true, verbatim: true })

/** Why a target is refused, as a sentence. */
export class RefusedTarget extends Error {}

/** Addresses that are not public, from the registries of special-purpose addresses. */
const special = new BlockList()
for (const range of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...[
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
  ],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]) {
  const [net, bits] = range.split('/') as [string, string]
  special.addSubnet(net, Number(bits), 'ipv4')
}
/** Inside of 2000::/3, which is all that is public of IPv6: tunnels of IPv4 addresses, documentation and the like. */
for (const range of ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']) {
  const [net, bits] = range.split('/') as [string, string]
  special.addSubnet(net, Number(bits), 'ipv6')
}
const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')

export function isPublic({ address, family }: Address): boolean {
  if (family === 4) return !special.check(address, 'ipv4')
  return global.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Addresses of a target, all of which may be connected to. The connection must use one of them, not the name. */
export async function resolveTarget(
  url: URL,
  allowedHosts: readonly string[],
  lookup: Lookup = systemLookup,
): Promise<Address[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await lookup(host).catch(() => [])
  if (addresses.length === 0) throw new RefusedTarget(`The host ${url.hostname} cannot be resolved.`)
  if (isAllowed(url, allowedHosts) || addresses.every(isPublic)) return addresses
  throw new RefusedTarget(
    `The host ${url.hostname} has an address that is not public. Add it to WELLHEAD_ALERT_HOSTS to allow it.`,
  )
}

/** Throws unless it is the URL of a web server. */
export function readTargetUrl(text: string): URL {
  if (!URL.canParse(text))
    throw new RefusedTarget('The URL of a target must be complete, such as https://example.com/hook.')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new RefusedTarget('The URL of a target must start with https:// or http://.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new RefusedTarget('The URL of a target must not contain a user or password.')
  }
  return url
}

/** Entries are `host`, `host:port` or `*.domain`. */
function isAllowed({ hostname, port, protocol }: URL, allowedHosts: readonly string[]): boolean {
  const withPort = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  return allowedHosts.some((entry) =>
    entry.startsWith('*.')
      ? hostname.endsWith(entry.slice(1)) || withPort.endsWith(entry.slice(1))
      : entry === hostname || entry === withPort,
  )
}
