/** Builds the console into dist/console and compresses its files. Returns the modules in it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

/** Smaller files fit into one network packet without compression. */
const minCompressedBytes = 1024

export async function buildConsole() {
  const configFile = fileURLToPath(new URL('../console/vite.config.ts', import.meta.url))
  const { output } = await build({ configFile, logLevel: 'warn' })
  const directory = fileURLToPath(new URL('../dist/console', import.meta.url))
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(?:js|css|html|svg)$/.test(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    const text = readFileSync(path)
    if (text.length < minCompressedBytes) continue
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
    writeFileSync(`${path}.br`, brotliCompressSync(text, { params }))
    writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
  }
  return output.flatMap(({ moduleIds }) => moduleIds ?? [])
}
