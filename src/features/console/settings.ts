import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { originList, text } from '../../core/base/setting-values.ts'
import type { SettingRows } from '../../core/base/settings.ts'

export const consoleSettings = {
  embedOrigins: {
    ...originList,
    default: '*',
    description: 'Origins of web pages that may show /embed/{name} in a frame, or * for all.',
  },
  brandName: {
    schema: z.string().trim().min(1).max(40),
    expected: 'a name of at most 40 characters',
    description: 'Your name, instead of Wellhead in the console of tenants.',
  },
  brandLogo: {
    schema: text.transform((value) => resolve(value)).refine(isLogo),
    expected: 'a PNG or SVG file of at most 256 KiB',
    description: 'Your logo, for the console of tenants and embedded pages.',
  },
  brandColor: {
    schema: z.string().regex(/^#[0-9a-f]{6}$/i),
    expected: 'a color such as #0f766e',
    description: 'Your accent color there. It is made lighter or darker where it would be hard to read.',
  },
} satisfies SettingRows

function isLogo(path: string): boolean {
  const file = statSync(path, { throwIfNoEntry: false })
  if (!file?.isFile() || file.size > 256 * 2 ** 10) return false
  const head = readFileSync(path).subarray(0, 1024).toString('latin1')
  return path.endsWith('.svg')
    ? head.includes('<svg')
    : /\.png$/.test(path) && head.startsWith('\x89PNG\r\n\x1a\n')
}
