import { describe, expect, test } from 'vitest'
import { networkOf, RequestQuota } from './request-quota.ts'

describe('the request quota', () => {
  test('covers a minute from the first request, and a clock that is set back locks no one out', () => {
    const quota = new RequestQuota(10)
    const take = (id: string, perMinute: number, nowMs: number) => quota.take([{ id, perMinute }], nowMs)
    expect(take('a', 2, 0)).toMatchObject({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false })
    expect(take('a', 2, 59_001)).toMatchObject({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: false })
    expect(take('a', 2, 59_999)).toMatchObject({ exceeded: true, remaining: 0, resetSeconds: 1 })
    expect(take('b', 2, 59_999)?.exceeded).toBe(false)
    expect(take('a', 2, 60_000)?.exceeded).toBe(false)
    expect(take('a', 1, 60_000)).toMatchObject({ exceeded: true, remaining: 0 })
    expect(take('a', 1, 10)?.exceeded).toBe(false)
  })

  test('remembers a bounded number', () => {
    const quota = new RequestQuota(100)
    const take = (id: string) => quota.take([{ id, perMinute: 1 }], 0)?.exceeded
    for (let i = 0; i < 1_000; i++) take(String(i))
    expect([take('999'), take('0')]).toEqual([true, false])
  })
})

describe('the network of a client', () => {
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
