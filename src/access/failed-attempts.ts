import { isIPv6 } from 'node:net'

export interface FailedAttemptsOptions {
  /** Per client address; also how many may come at once. */
  perMinute: number
  /** Addresses to remember; beyond that the one that failed least recently is forgotten. */
  maxAddresses: number
}

interface Bucket {
  /** Attempts that are left, with fractions. */
  left: number
  atMs: number
}

const minuteMs = 60_000

/**
 * Counts requests with tokens that are not valid, by client address. Only those are ever refused: a valid token is
 * found before anybody asks here, so that callers behind the same address keep working.
 */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions
  readonly #buckets = new Map<string, Bucket>()

  constructor(options: FailedAttemptsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#buckets.size
  }

  /** Counts one; says in how many seconds the next is due where it was one too many. */
  take(address: string, nowMs: number): number | undefined {
    const { perMinute, maxAddresses } = this.#options
    const name = networkOf(address)
    const known = this.#buckets.get(name)
    // A clock that was put back must not lock anybody out.
    const passedMs = known && nowMs > known.atMs ? nowMs - known.atMs : 0
    const left = Math.min(perMinute, (known?.left ?? perMinute) + (passedMs * perMinute) / minuteMs)
    const exceeded = left < 1
    this.#buckets.delete(name)
    this.#buckets.set(name, { left: exceeded ? left : left - 1, atMs: nowMs })
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > maxAddresses && oldest !== undefined) this.#buckets.delete(oldest)
    return exceeded ? Math.max(1, Math.ceil(((1 - left) * minuteMs) / perMinute / 1000)) : undefined
  }
}

/** One client with IPv6 usually has all addresses of a network of 64 bits. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const plain = address.replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  // A gap stands for zeros; the first four groups are all in front of it, or reach into it or behind it.
  const behind = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length)
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...behind]
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
