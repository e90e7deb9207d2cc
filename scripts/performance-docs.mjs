/**
 * Generates docs/performance.md and its charts from docs/performance.json, the output of
 * `npm run bench -- --json docs/performance.json`.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chartsOf, pageWith } from './support/performance-page.mjs'

const docs = new URL('../docs/', import.meta.url)
const page = new URL('performance.md', docs)
const images = new URL('images/', docs)
const run = JSON.parse(readFileSync(new URL('performance.json', docs), 'utf8'))
const markdown = pageWith(readFileSync(page, 'utf8'), run)
const charts = chartsOf(run)
writeFileSync(page, markdown)
for (const [file, svg] of charts) writeFileSync(new URL(file, images), svg)
for (const file of readdirSync(images)) {
  if (/^bench-.*\.svg$/.test(file) && !charts.has(file)) rmSync(new URL(file, images))
}
