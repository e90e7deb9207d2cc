import { callerSqlSettings, isolationSettings } from '../../sql/isolation.ts'
import { outwardJson, textRows } from '../json-rows.ts'

/** Settings of statements that the service sends. A profile that fixes one of them makes ClickHouse refuse the statement. */
export const sentSettings: readonly string[] = [
  ...Object.keys({ ...isolationSettings, ...callerSqlSettings, ...outwardJson }),
  ...Object.keys({ ...textRows.lines, ...textRows.array }),
  'additional_table_filters',
  'async_insert',
  'cancel_http_readonly_queries_on_client_close',
  'date_time_output_format',
  'enable_http_compression',
  'insert_deduplication_token',
  'insert_quorum',
  'insert_quorum_parallel',
  'max_execution_time',
  'max_partitions_per_insert_block',
  'max_result_bytes',
  'max_result_rows',
  'max_table_size_to_drop',
  'max_threads',
  'mutations_sync',
  'output_format_json_array_of_rows',
  'readonly',
  'result_overflow_mode',
  'select_sequential_consistency',
]
