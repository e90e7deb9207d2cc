import { expect, test } from 'vitest'
import { definitionShape } from '../../../endpoints/definition/definition.ts'
import { bindQuery } from '../../../endpoints/definition/parameters.ts'
import { fixedOperations, openApiDocument } from '../document.ts'
import { docsPage } from './docs-page.ts'

const page = docsPage(openApiDocument({ version: '1.2.3', url: 'http://127.0.0.1:4000' }))

test('the page has every operation, with a call to try', () => {
  for (const { id, summary } of fixedOperations) {
    expect(page).toContain(`<details id="${id}">`)
    expect(page).toContain(`<span>${summary}</span>`)
  }
  expect(page.match(/<code>curl /g)).toHaveLength(fixedOperations.length)
  expect(page).toContain(
    `curl &#39;http://127.0.0.1:4000/api/endpoints/query/logs.all?project=demo&#39; \\\n  -H &quot;X-API-KEY: $WELLHEAD_TOKEN&quot;`,
  )
})

test('the page runs nothing and loads nothing from elsewhere', () => {
  expect(page).not.toMatch(/<script|<style|<img|<iframe|\sstyle=|\son\w+=|(?:src|href)="(?:https?:|\/\/)/i)
  expect(page.match(/<link [^>]*>/g)).toEqual(['<link rel="stylesheet" href="docs/style.css">'])
  expect(Buffer.byteLength(page)).toBeLessThan(150_000)
})

test('what people wrote is shown as text, in the page and in the shell', () => {
  const hostile = `<script>alert(1)</script> "'&`
  const definition = definitionShape.parse({
    id: '11111111-2222-4333-8444-555555555555',
    name: 'hostile',
    description: hostile,
    query: 'SELECT @q',
    parameters: { q: { description: hostile, example: `'; rm -rf ~; '`, required: true } },
  })
  const compiled = bindQuery(definition.query, definition.parameters)
  const endpoints = [{ definition, version: 1, compiled, columns: [] }]
  const shown = docsPage(openApiDocument({ version: '1', url: `http://h"><b>`, endpoints }))
  expect(shown).not.toContain('<script')
  expect(shown).not.toContain('"><b>')
  expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &quot;&#39;&amp;')
  expect(shown).toContain('?q=%27%3B+rm+-rf+%7E%3B+%27')
})
