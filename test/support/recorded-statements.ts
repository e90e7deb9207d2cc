import { ClickHouseHttp } from '../../src/core/engine/clickhouse-http.ts'

/** Parameters of a request to the engine that differ from run to run. */
const changing = new Set(['query_id', 'max_execution_time', 'insert_deduplication_token', 'session_id'])

/** Records what services of this process send to their engines until it is stopped. */
export function recordStatements() {
  const texts = new Set<string>()
  const send = ClickHouseHttp.prototype.send
  ClickHouseHttp.prototype.send = function (request) {
    const search = Object.entries(request.search ?? {}).filter(([name]) => !changing.has(name))
    // The body of an insert has rows.
    const isInsert = request.search?.query !== undefined
    const sql = isInsert ? '' : (request.body?.toString() ?? '')
    if (sql !== '' || isInsert)
      texts.add(
        stable(
          `${sql}\n${search
            .map((pair) => pair.join('='))
            .toSorted()
            .join('\n')}`,
        ),
      )
    return send.call(this, request)
  }
  return {
    /** Each once, in order, with placeholders for what differs from run to run. */
    texts: () => [...texts].toSorted(),
    stop: () => {
      ClickHouseHttp.prototype.send = send
    },
  }
}

function stable(text: string): string {
  return text
    .replace(/(max_threads=)\d+/g, '$1<cores>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, '<time>')
    .replace(/\d{4}-\d\d-\d\d/g, '<day>')
    .replace(/(?<![0-9a-f])\d{9,}(?:\.\d+)?(?![0-9a-f])/g, '<number>')
    .replace(/(?<![0-9a-z])[0-9a-f]{16,}(?![0-9a-z])/g, '<hex>')
}
