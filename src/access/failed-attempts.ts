import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

interface FailedAttemptsOptions {
  /** Per client address; also the size of a burst. */
  perMinute: number
  /** Beyond this number, the address that failed least recently is forgotten. */
  maxAddresses: number
}

interface Bucket {
  /** Remaining attempts, with fractions. */
  left: number
  atMs: number
}

const minuteMs = 60_000

/**
 * Counts requests with invalid tokens by client address. Valid tokens are recognized before, so they are never limited
 * because of others behind the same address.
 */
export class FailedAttempts {
  readonly #perMinute: number
  readonly #buckets: LRUCache<string, Bucket>

  constructor({ perMinute, maxAddresses }: FailedAttemptsOptions) {
    this.#perMinute = perMinute
    this.#buckets = new LRUCache({ max: maxAddresses })
  }

  get size(): number {
    return this.#buckets.size
  }

  /** Counts an attempt. Returns the seconds until the next one is allowed if this one exceeds the limit. */
  take(address: string, nowMs: number): number | undefined {
    const perMinute = this.#perMinute
    const name = networkOf(address)
    const known = this.#buckets.get(name)
    // A clock that is set back must not lock anyone out.
    const passedMs = known && nowMs > known.atMs ? nowMs - known.atMs : 0
    const left = Math.min(perMinute, (known?.left ?? perMinute) + (passedMs * perMinute) / minuteMs)
    const exceeded = left < 1
    this.#buckets.set(name, { left: exceeded ? left : left - 1, atMs: nowMs })
    return exceeded ? Math.max(1, Math.ceil(((1 - left) * minuteMs) / perMinute / 1000)) : undefined
  }
}

/** An IPv6 client usually has all addresses of a /64 network. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [plain = ''] = address.split('%')
  const mapped = /^::ffff:(\d[\d.]+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  // `::` stands for zeros, which may be among the first four groups.
  const behind = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length)
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...behind]
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
