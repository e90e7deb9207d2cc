import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { contentTag } from '../../base/content-tag.ts'

export interface ConsoleFile {
  contentType: string
  etag: string
  /** By the name of the coding; `identity` is always there. */
  forms: Readonly<Record<string, Buffer>>
}

export interface ConsoleFiles {
  /** Undefined where the console was not built. */
  page: ConsoleFile | undefined
  assets: ReadonlyMap<string, ConsoleFile>
}

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const codings = { br: '.br', gzip: '.gz' }

/** Everything that the console consists of, read once: what is not in the list cannot be asked for. */
export function readConsoleFiles(directory: string): ConsoleFiles {
  const assets = new Map<string, ConsoleFile>()
  for (const name of namesIn(join(directory, 'assets'))) {
    if (extname(name) in contentTypes) assets.set(name, readFile(join(directory, 'assets', name)))
  }
  const page = namesIn(directory).includes('index.html') ? readFile(join(directory, 'index.html')) : undefined
  return { page, assets }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function readFile(path: string): ConsoleFile {
  const identity = readFileSync(path)
  const forms: Record<string, Buffer> = { identity }
  for (const [coding, suffix] of Object.entries(codings)) {
    try {
      forms[coding] = readFileSync(path + suffix)
    } catch {
      // Small files are not packed.
    }
  }
  return { contentType: contentTypes[extname(path)] as string, etag: `"${contentTag(identity)}"`, forms }
}
