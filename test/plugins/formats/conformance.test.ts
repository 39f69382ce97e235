/** Every wire format has what the gateway asks of it. A failure names what a new format owes. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endpointNames } from '../../../plugins/adapt/endpoints.ts'
import type { Format, TargetFormat } from '../../../plugins/formats/format.ts'
import { formats, knownFormats, targetFormats } from '../../../plugins/formats/index.ts'
import { checkFormat } from '../../helpers/formats/conformance.ts'

/** Files of a format that translates; a large one is split into `decode-NAME` and `encode-NAME`. */
const CLIENT_FILES = [
  'index',
  'request',
  'messages',
  'content',
  'tools',
  'settings',
  'response',
  'decode-stream',
  'encode-stream',
  'usage',
  'hosted-tools',
  'errors',
]
const hasFile = (format: string, name: string): boolean =>
  existsSync(
    fileURLToPath(new URL(`../../../plugins/formats/${format}/${name}.ts`, import.meta.url)),
  )

const all = new Map<string, Format | TargetFormat>([...targetFormats, ...formats])
t.ok(all.has('bedrock-converse') && all.has('cohere-chat'))
for (const [key, format] of all)
  t.test(`format ${key}: everything that the gateway asks of it`, t => {
    checkFormat(t, key, format)
    t.end()
  })

const chats = [...formats.values()].filter(({ codec, sample }) => codec && sample)
t.ok(chats.length >= 4)
for (const { name: key } of chats)
  t.test(`format ${key}: its files`, t => {
    for (const name of CLIENT_FILES)
      t.ok(
        hasFile(key, name) || (hasFile(key, `decode-${name}`) && hasFile(key, `encode-${name}`)),
        `the format ${key} owes ${name}.ts: the file that every chat format has`,
      )
    t.end()
  })

/** Formats that `paths:` and `body:` do not name, with the reason. */
const WITHOUT_ENDPOINT: Readonly<Record<string, string>> = {
  'openai-compaction': 'an operator writes its path: /v1/responses/compact',
  recraft: 'its path is the one of openai-images',
}
for (const name of knownFormats)
  t.test(`format ${name}: its endpoint`, async t => {
    const hasEndpoint = (endpointNames as readonly string[]).includes(name)
    t.ok(
      hasEndpoint !== (WITHOUT_ENDPOINT[name] !== undefined),
      `the format ${name} owes its path in plugins/adapt/endpoints.ts, or a reason here`,
    )
  })
