type Rgb = readonly [number, number, number]

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]
/** The darkest background of the light theme, and the lightest of the dark one, on which the accent is read. */
const lightBack: Rgb = [238, 241, 241]
const darkBack: Rgb = [32, 43, 41]
/** Readable text has 4.5; rounding takes a little. */
const leastContrast = 4.7

/** The variables of a brand color, readable in both themes. None without a color. */
export function brandColors(color: string | undefined): Record<string, string> {
  if (color === undefined) return {}
  const own = rgbOf(color)
  const [light, dark] = [readable(own, [lightBack], black), readable(own, [darkBack], white)]
  const [lightSoft, darkSoft] = [mixed(light, white, 0.88), mixed(dark, darkBack, 0.85)]
  const both = (one: Rgb, other: Rgb) => `light-dark(${hexOf(one)}, ${hexOf(other)})`
  const accent = both(light, dark)
  return {
    '--accent': accent,
    '--accent-strong': both(
      readable(light, [lightSoft, lightBack], black),
      readable(dark, [darkSoft, darkBack], white),
    ),
    '--accent-soft': both(lightSoft, darkSoft),
    '--on-accent': both(white, black),
    '--series-1': accent,
  }
}

/** Mixes the color with another one until it can be read on all backgrounds. */
function readable(color: Rgb, backs: readonly Rgb[], toward: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.04) {
    const mix = mixed(color, toward, share)
    if (backs.every((back) => contrast(mix, back) >= leastContrast)) return mix
  }
  return toward
}

function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

function hexOf(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`
}

function mixed(one: Rgb, other: Rgb, share: number): Rgb {
  return one.map((part, index) => part + ((other[index] as number) - part) * share) as unknown as Rgb
}

/** As WCAG defines it. */
function contrast(one: Rgb, other: Rgb): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
