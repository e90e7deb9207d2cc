import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

interface Manifest {
  engines?: { node?: string }
}

/** npm's own comparison; fastify depends on it. */
const semver = createRequire(import.meta.resolve('fastify'))('semver') as {
  minVersion(range: string): { version: string }
  satisfies(version: string, range: string): boolean
}

const read = (file: string) => JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'))

test('every locked dependency supports the oldest Node that this package supports', () => {
  const { engines } = read('package.json') as Manifest
  const oldest = semver.minVersion(engines?.node as string).version
  const { packages } = read('package-lock.json') as { packages: Record<string, Manifest> }
  const refused = Object.entries(packages)
    .map(([path, { engines }]) => ({ path, node: engines?.node }))
    .filter(({ node }) => node !== undefined && !semver.satisfies(oldest, node))
  expect([oldest, refused]).toEqual(['20.19.0', []])
})
