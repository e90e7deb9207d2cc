import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import { banner, shownToken } from './run-service.ts'

test.each([
  [undefined, '$(cat ./data/admin-token)'],
  ['set-by-the-operator', '$WELLHEAD_ADMIN_TOKEN'],
])('the demo shows where the admin token %j is', (adminToken, expected) => {
  expect(shownToken({ adminToken, dataDir: './data' })).toBe(expected)
})

describe('the banner', () => {
  const url = 'http://127.0.0.1:4000'
  const { colors } = memoryOutput()
  const show = (made: boolean, adminToken: string | undefined, demo = false, dataDir = '/d') =>
    banner(
      { url, adminToken: { token: 'wh_secret', made, keep: () => {} } },
      { adminToken, dataDir },
      demo ? { page: 'dashboards/demo.traffic' } : undefined,
      colors,
    )

  test('has the token at the first start only', () => {
    expect(show(true, undefined)).toContain(
      'Admin token  wh_secret  (shown only once, stored in /d/admin-token)',
    )
    expect(show(true, undefined)).toContain("curl -H 'X-API-KEY: wh_secret' 'http://127.0.0.1:4000/api/")
    const later = show(false, undefined)
    expect(later).toContain('Admin token  stored in /d/admin-token')
    expect(later).toContain('curl -H "X-API-KEY: $(cat /d/admin-token)"')
    expect(later).not.toContain('wh_secret')
  })

  test('never has a token that was set', () => {
    expect(show(false, 'wh_secret')).toContain('Admin token  set by WELLHEAD_ADMIN_TOKEN')
    expect(show(false, 'wh_secret')).not.toContain('wh_secret')
  })

  test('has the address of the console, and leaves requests to the demo', () => {
    expect(show(false, undefined, true)).toContain(
      'Console      http://127.0.0.1:4000/console/dashboards/demo.traffic\n',
    )
    expect(show(false, undefined, true)).not.toContain('curl')
    // The directory of somebody's choice may have more than the demo.
    expect(show(false, undefined, true)).not.toContain('rm -r')
    expect(show(false, undefined, true, resolve('demo-data'))).toContain(
      'It is stored in ./demo-data. To remove it, stop the service and run: rm -r ./demo-data\n',
    )
  })
})
