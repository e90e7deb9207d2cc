import fc from 'fast-check'
import { expect, test } from 'vitest'
import { brandColors } from './brand-colors.ts'

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

test('every color can be read in both themes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const colors = brandColors(`#${value.toString(16).padStart(6, '0')}`)
      for (const theme of [0, 1]) {
        const [accent, strong, soft, on] = [
          '--accent',
          '--accent-strong',
          '--accent-soft',
          '--on-accent',
        ].map((name) => colors[name]?.match(/#[0-9a-f]{6}/g)?.[theme] ?? '') as [
          string,
          string,
          string,
          string,
        ]
        for (const back of [
          ['#ffffff', '#f7f8f8', '#eef1f1'],
          ['#0e1413', '#151c1b', '#202b29'],
        ][theme] ?? [])
          expect([back, contrast(accent, back) >= 4.5]).toEqual([back, true])
        expect(contrast(strong, soft)).toBeGreaterThanOrEqual(4.5)
        expect(contrast(on, accent)).toBeGreaterThanOrEqual(4.5)
      }
    }),
  )
})

test('keeps a color that can be read, and has none without a color', () => {
  expect(brandColors('#0f766e')['--accent']).toMatch(/^light-dark\(#0f766e, /)
  expect(brandColors(undefined)).toEqual({})
})
