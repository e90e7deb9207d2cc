import { expect, test } from 'vitest'
import { columnNameOf, isColumnPath } from './column-names.ts'

test('names the column of a path as the service accepts it', () => {
  const paths = ['timestamp', 'requestPath', 'attributes.http%2Eroute', 'headers.x-real-ip', '1st.höhe', '1']
  expect(paths.map(columnNameOf)).toEqual([
    'metadata_timestamp',
    'request_path',
    'attributes_http_route',
    'headers_x_real_ip',
    'st_h_he',
    'field',
  ])
})

test('columns can have paths with dots and letters of any language in their keys', () => {
  const paths = ['attributes.http%2Eroute', 'ä', '1a', 'a.b-c', 'a b', 'a..b', '']
  expect(paths.filter(isColumnPath)).toEqual(['attributes.http%2Eroute', 'ä', '1a', 'a.b-c'])
})
