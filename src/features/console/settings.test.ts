import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { settingsReader, settingsWith } from '../../../test/support/settings.ts'
import { consolePages } from './index.ts'

const { settingsOf, problemsOf } = settingsReader(await settingsWith(consolePages))

test('accepts a PNG or SVG file as the logo, and a color of six digits', () => {
  const icon = 'console/src/icon.svg'
  const brand = {
    WELLHEAD_BRAND_LOGO: icon,
    WELLHEAD_BRAND_COLOR: '#0F766e',
    WELLHEAD_BRAND_NAME: ' Blue ',
  }
  expect(settingsOf(brand)).toMatchObject({
    brandLogo: resolve(icon),
    brandColor: '#0F766e',
    brandName: 'Blue',
  })
  expect(problemsOf({ WELLHEAD_BRAND_LOGO: 'package.json', WELLHEAD_BRAND_COLOR: 'red' })).toEqual([
    'WELLHEAD_BRAND_LOGO must be a PNG or SVG file of at most 256 KiB, not "package.json".',
    'WELLHEAD_BRAND_COLOR must be a color such as #0f766e, not "red".',
  ])
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-logo-'))
  const accepts = (name: string, content: Buffer | string) => {
    writeFileSync(join(scratch, name), content)
    return problemsOf({ WELLHEAD_BRAND_LOGO: join(scratch, name) }).length === 0
  }
  mkdirSync(join(scratch, 'folder.svg'))
  try {
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    expect([accepts('a.png', png), accepts('a.png', '<svg>'), accepts('a.txt', png)]).toEqual([
      true,
      false,
      false,
    ])
    expect([accepts('a.svg', '<?xml?><svg>'), accepts('a.svg', png), accepts('a.svg', '')]).toEqual([
      true,
      false,
      false,
    ])
    expect(problemsOf({ WELLHEAD_BRAND_LOGO: join(scratch, 'folder.svg') })).toHaveLength(1)
  } finally {
    rmSync(scratch, { recursive: true })
  }
})
