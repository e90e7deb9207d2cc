/**
 * Generates the figures of docs/operations/performance.md and docs/scaling.md from docs/operations/performance.json, the output
 * of `npm run bench -- --json docs/operations/performance.json`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { pageWith, scalingWith } from './support/performance-page.mjs'

const docs = new URL('../docs/', import.meta.url)
const run = JSON.parse(readFileSync(new URL('operations/performance.json', docs), 'utf8'))
for (const [path, generate] of [
  ['operations/performance.md', pageWith],
  ['scaling.md', scalingWith],
]) {
  const page = new URL(path, docs)
  writeFileSync(page, generate(readFileSync(page, 'utf8'), run))
}
