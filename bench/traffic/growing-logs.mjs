/**
 * Entries in numbers that would take hours over HTTP, made by the engine itself. Their shape is that of requests at the
 * edge and of invocations, with the sizes of projects by Zipf's law, and the same numbers give the same entries. They go
 * into the real tables, so every column and index is made as it is for what is sent. Beyond a number they are copies of
 * what is there with other ids and at other times: their text is read once.
 */
import { command } from '../support/measured-tables.mjs'

/** The first grows with everything; the others keep what they had at the smallest size. */
export const growthProjects = {
  'project that grows with it': 'growingprojectaaaaaa',
  'project that stays as it is': 'stayingprojectaaaaaa',
  'project of 100 entries': 'smallestprojectaaaaa',
}

const [growing, staying, tiny] = Object.values(growthProjects)
const otherProjects = 2_000
/**
 * About a twentieth is the growing project's, of each source, and a fiftieth of the smallest size the staying one's. What is
 * copied is not the staying one's, so that of large sizes a few hundredths are missing.
 */
const growingEvery = 21
const stayingShare = 1 / 50
const tinyEntries = 100
const entriesPerInsert = 1_000_000
const notCopied = 200_000
const weekMs = 7 * 86_400_000

export async function growTo(engine, { from, to, smallest, nowMs }) {
  const own = Math.floor(smallest * stayingShare)
  if (from === 0) {
    await fill(engine, { from: 0, rows: own, nowMs, project: `'${staying}'` })
    await fill(engine, { from: own, rows: tinyEntries, nowMs, project: `'${tiny}'` })
    await growTo(engine, { from: own + tinyEntries, to, smallest, nowMs })
    return
  }
  const madeTo = Math.max(from, Math.min(to, notCopied))
  for (let at = from; at < madeTo; at += entriesPerInsert) {
    await fill(engine, {
      from: at,
      rows: Math.min(entriesPerInsert, madeTo - at),
      nowMs,
      project: anyProject,
    })
  }
  for (let now = madeTo; now < to; now = Math.min(to, 2 * now)) {
    await copy(engine, { part: Math.min(1, (to - now) / now), nowMs, round: now })
  }
  for (const source of Object.keys(bodies)) {
    await command(engine, `OPTIMIZE TABLE wellhead.${source} FINAL`)
  }
}

const drawn = 'cityHash64(n)'
/** With evenly spread logarithms of ranks, the n-th comes about 1/n as often as the first. */
const rank = `toUInt32(pow(${otherProjects}, (${drawn} % 1000003) / 1000003.)) `
const anyProject = `if(n % ${growingEvery} = 0, '${growing}', concat('project', leftPad(toString(${rank}), 13, 'a')))`

const uuid = "lower(hex(MD5(concat('id', toString(n)))))"
const path = `['/rest/v1/orders', '/rest/v1/profiles', '/rest/v1/messages', '/auth/v1/token', '/auth/v1/user',
  '/storage/v1/object/public/avatars', '/realtime/v1/websocket', '/functions/v1/send-email'][1 + intDiv(${drawn}, 7) % 8]`
const status = `[200, 200, 200, 200, 201, 204, 304, 400, 401, 404, 500][1 + intDiv(${drawn}, 77) % 11]`
const agent = `['Dart/3.8 (dart:io)', 'node', 'python-httpx/0.28.1', 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'][1 + intDiv(${drawn}, 13) % 4]`
const address = `concat(toString(1 + ${drawn} % 222), '.', toString(intDiv(${drawn}, 3) % 256), '.', toString(intDiv(${drawn}, 5) % 256), '.7')`

const bodies = {
  edge_logs: `concat(
    '{"request":{"method":"GET","host":"', project, '.api.example.com","path":"', path, '","search":"?id=eq.', id,
    '","url":"https://', project, '.api.example.com', path, '?id=eq.', id,
    '","headers":{"user_agent":"', agent, '","cf_connecting_ip":"', address, '","cf_ray":"', substring(id, 1, 16),
    '"}},"response":{"status_code":', toString(status), ',"origin_time":', toString(1 + ${drawn} % 900), '}}')`,
  function_edge_logs: `concat(
    '{"function_id":"', substring(project, 8), toString(${drawn} % 5), '","deployment_id":"', substring(id, 1, 8),
    '","execution_time_ms":', toString(5 + ${drawn} % 1500),
    ',"request":{"method":"POST","url":"https://', project, '.functions.example.com/send-email","headers":{"user_agent":"', agent,
    '"}},"response":{"status_code":', toString(status), '}}')`,
}

/** Four fifths requests and one fifth invocations, evenly over the last seven days. */
async function fill(engine, { from, rows, nowMs, project }) {
  const start = `fromUnixTimestamp64Milli(${nowMs - weekMs}, 'UTC')`
  for (const [source, metadata] of Object.entries(bodies)) {
    const fifth = source === 'edge_logs' ? 'n % 5 != 3' : 'n % 5 = 3'
    const sql = `
      INSERT INTO wellhead.${source} (project, id, timestamp, event_message, metadata)
      WITH ${path} AS path, ${status} AS status, ${agent} AS agent, ${address} AS address
      SELECT
        ${project} AS project,
        ${uuid} AS id,
        ${start} + toIntervalMicrosecond(intDiv((number + 0.5) * ${weekMs * 1000}, ${rows})) AS timestamp,
        concat('GET | ', toString(status), ' | ', address, ' | ', path, ' | ', agent) AS event_message,
        ${metadata} AS metadata
      FROM (SELECT number, number + ${from} AS n FROM numbers(${rows})) WHERE ${fifth}`
    await engine.command({ sql, settings: { max_partitions_per_insert_block: 0 } }, { deadlineMs: 3_600_000 })
  }
}

/** A part of what is there once more, a few hours later in the same week. */
async function copy(engine, { part, nowMs, round }) {
  const start = nowMs * 1000 - weekMs * 1000
  const shifted = `${start} + (toUnixTimestamp64Micro(old.timestamp) - ${start} + ${round} * 7919000) % ${weekMs * 1000}`
  for (const source of Object.keys(bodies)) {
    const sql = `
      INSERT INTO wellhead.${source} (project, id, timestamp, event_message, metadata)
      SELECT
        project,
        lower(hex(MD5(concat(old.id, '${round}')))) AS id,
        fromUnixTimestamp64Micro(${shifted}, 'UTC') AS timestamp,
        event_message,
        metadata
      FROM wellhead.${source} AS old
      WHERE project NOT IN ('${staying}', '${tiny}') AND cityHash64(old.id) / pow(2, 64) < ${part}`
    await engine.command({ sql, settings: { max_partitions_per_insert_block: 0 } }, { deadlineMs: 3_600_000 })
  }
}
