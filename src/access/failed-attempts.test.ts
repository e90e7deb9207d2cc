import { describe, expect, test } from 'vitest'
import { FailedAttempts, networkOf } from './failed-attempts.ts'

describe('failed attempts', () => {
  const startMs = Date.UTC(2026, 0, 1)

  test('refuses an address after a burst, and admits one more for each share of a minute', () => {
    const attempts = new FailedAttempts({ perMinute: 4, maxAddresses: 10 })
    const take = (ms: number) => attempts.take('192.0.2.1', startMs + ms)
    expect([take(0), take(0), take(0), take(0)]).toEqual([undefined, undefined, undefined, undefined])
    expect(take(0)).toBe(15)
    expect(take(14_000)).toBe(1)
    expect(take(15_000)).toBeUndefined()
    expect(take(15_000)).toBe(15)
    // A full minute later all of them are back, and no more.
    expect(
      Array.from({ length: 6 }, () => take(3_600_000)).filter((wait) => wait === undefined),
    ).toHaveLength(4)
  })

  test('counts each address for itself, and all of an IPv6 network as one', () => {
    const attempts = new FailedAttempts({ perMinute: 1, maxAddresses: 10 })
    expect(attempts.take('192.0.2.1', startMs)).toBeUndefined()
    expect(attempts.take('192.0.2.2', startMs)).toBeUndefined()
    expect(attempts.take('::ffff:192.0.2.2', startMs)).toBe(60)
    expect(attempts.take('2001:db8::1', startMs)).toBeUndefined()
    expect(attempts.take('2001:db8:0:0:1:2:3:4', startMs)).toBe(60)
    expect(attempts.take('2001:db8:0:1::1', startMs)).toBeUndefined()
  })

  test('remembers a bounded number of addresses', () => {
    const attempts = new FailedAttempts({ perMinute: 1, maxAddresses: 100 })
    for (let i = 0; i < 10_000; i++) attempts.take(`10.0.${i >> 8}.${i & 255}`, startMs)
    expect(attempts.size).toBe(100)
    expect(attempts.take('10.0.39.15', startMs)).toBe(60)
  })

  test('does not lock anybody out when the clock is set back', () => {
    const attempts = new FailedAttempts({ perMinute: 1, maxAddresses: 10 })
    attempts.take('192.0.2.1', startMs)
    expect(attempts.take('192.0.2.1', startMs - 3_600_000)).toBe(60)
    expect(attempts.take('192.0.2.1', startMs - 3_540_000)).toBeUndefined()
  })

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0'],
    ['2001:DB8::', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['::2:3:4:5:6:7:8', '0:2:3:4'],
    ['', ''],
  ])('%s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
