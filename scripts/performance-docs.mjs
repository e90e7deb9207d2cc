/**
 * Generates docs/operations/performance.md and its charts from docs/operations/performance.json, the output of
 * `npm run bench -- --json docs/operations/performance.json`.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chartsOf, pageWith } from './support/performance-page.mjs'

const docs = new URL('../docs/operations/', import.meta.url)
const page = new URL('performance.md', docs)
const images = new URL('../images/bench/', docs)
const run = JSON.parse(readFileSync(new URL('performance.json', docs), 'utf8'))
const markdown = pageWith(readFileSync(page, 'utf8'), run)
const charts = chartsOf(run)
writeFileSync(page, markdown)
for (const [file, svg] of charts) writeFileSync(new URL(file, images), svg)
for (const file of readdirSync(images)) {
  if (!charts.has(file)) rmSync(new URL(file, images))
}
