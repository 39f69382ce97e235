/** A database in the schema of new-api or one-api, as their public sources define it. */
import { DatabaseSync } from 'node:sqlite'

export type Cells = Readonly<Record<string, string | number | null>>
export type Rows = Readonly<Record<string, readonly Cells[]>>

const USERS =
  'id, username, password, display_name, role, status, email, access_token, quota, used_quota, request_count, `group`'
const TOKENS =
  'id, user_id, `key`, status, name, created_time, accessed_time, expired_time, remain_quota, used_quota, unlimited_quota'
const CHANNELS =
  'id, type, `key`, openai_organization, status, name, weight, base_url, other, models, `group`, model_mapping, priority'
const SCHEMAS: Readonly<Record<'new-api' | 'one-api', readonly string[]>> = {
  'new-api': [
    `CREATE TABLE users (${USERS}, setting, stripe_customer, deleted_at)`,
    `CREATE TABLE tokens (${TOKENS}, model_limits_enabled, model_limits, allow_ips, \`group\`, deleted_at)`,
    `CREATE TABLE channels (${CHANNELS}, tag, setting, status_code_mapping, param_override, header_override, channel_info)`,
    'CREATE TABLE options (`key` PRIMARY KEY, value)',
    'CREATE TABLE logs (id, user_id, content)',
    'CREATE TABLE redemptions (id, `key`, status, quota)',
  ],
  'one-api': [
    `CREATE TABLE users (${USERS}, lark_id)`,
    `CREATE TABLE tokens (${TOKENS}, models, subnet)`,
    `CREATE TABLE channels (${CHANNELS}, config, system_prompt)`,
    'CREATE TABLE options (`key` PRIMARY KEY, value)',
  ],
}

export const writeDatabase = (file: string, product: 'new-api' | 'one-api', rows: Rows): void => {
  const database = new DatabaseSync(file)
  for (const text of SCHEMAS[product]) database.exec(text)
  database.exec('BEGIN')
  for (const [table, list] of Object.entries(rows))
    for (const row of list) {
      const names = Object.keys(row)
      const columns = names.map(name => `\`${name}\``).join(', ')
      database
        .prepare(`INSERT INTO ${table} (${columns}) VALUES (${names.map(() => '?').join(', ')})`)
        .run(...Object.values(row))
    }
  database.exec('COMMIT')
  database.close()
}

export const tokenKey = (id: number): string => `Key${id}x`.padEnd(48, 'Ab3')
export const user = (id: number, more: Cells = {}): Cells => ({
  id,
  username: `user${id}`,
  role: 1,
  status: 1,
  quota: 500_000,
  group: 'default',
  ...more,
})
export const token = (id: number, of: number, more: Cells = {}): Cells => ({
  id,
  user_id: of,
  key: tokenKey(id),
  status: 1,
  name: `token ${id}`,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: 1,
  ...more,
})
export const channel = (id: number, type: number, more: Cells = {}): Cells => ({
  id,
  type,
  key: `upstream-key-${id}`,
  status: 1,
  name: `Channel ${id}`,
  weight: 0,
  base_url: '',
  models: '',
  group: 'default',
  model_mapping: '',
  priority: 0,
  ...more,
})
export const option = (key: string, value: unknown): Cells => ({
  key,
  value: typeof value === 'string' ? value : JSON.stringify(value),
})
