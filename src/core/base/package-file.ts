import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Bundles lie one level below the package's root, modules three. */
const roots = ['..', '../../..'].map((path) => new URL(`${path}/`, import.meta.url))
const root = roots.find((url) => existsSync(new URL('package.json', url))) as URL

export function packageFile(path: string): string {
  return fileURLToPath(new URL(path, root))
}

export const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
  version: string
}
