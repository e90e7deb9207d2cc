import { readFileSync, statSync } from 'node:fs'

const maxImageBytes = 256 * 2 ** 10

export interface ImageFile {
  contentType: 'image/png' | 'image/svg+xml'
  bytes: Buffer
}

/** Undefined if the file cannot be read, is too large, or is neither PNG nor SVG. */
export function readImage(path: string): ImageFile | undefined {
  try {
    if (statSync(path).size > maxImageBytes) return undefined
    const bytes = readFileSync(path)
    if (bytes.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n') return { contentType: 'image/png', bytes }
    return /<svg[\s>]/.test(bytes.toString('utf8', 0, 4_000))
      ? { contentType: 'image/svg+xml', bytes }
      : undefined
  } catch {
    return undefined
  }
}
