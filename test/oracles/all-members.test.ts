/** Every member of the SDKs' request types: it passes unchanged in its own format, our schemas
 *  accept it, and on the way to another format it has an effect, is named as dropped, or is
 *  refused. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { CLIENTS, send, TARGETS } from './cells.ts'
import { MEMBER_EXCEPTIONS } from './member-exceptions.ts'
import { memberCells, walkMembers } from './member-walk.ts'
import { Members } from './members.ts'
import { repair } from './repair.ts'

const SCHEMAS = {
  'openai-chat': 'chat-completions',
  'openai-responses': 'responses',
  'anthropic-messages': 'messages',
  'google-gemini': 'generate-content',
  'google-interactions': 'interactions',
} as const

/** Members that our schemas refuse, with the reason. */
const UNACCEPTED: Readonly<Record<string, string>> = {
  'input[].id': 'an item with an id alone: the message says that it needs a type or a role',
}

for (const client of CLIENTS)
  t.test(`members of ${client}: accepted, and unchanged in the same format`, async t => {
    const schema = JSON.parse(readFileSync(`schemas/${SCHEMAS[client]}.json`, 'utf8'))
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
    // A model that declares how it thinks gets thinking and effort in its own form, and one that
    // demands signatures gets a signature with each call.
    const target = TARGETS.find(
      ({ format, traits }) =>
        format === client && traits.thinking !== 'budget' && traits.signatures !== 'required',
    )
    const members = new Members(client).all()
    const refused: string[] = []
    const changed: string[] = []
    for (const { path, samples } of members)
      for (const sample of samples) {
        const body = {
          ...repair(client, sample),
          ...(client !== 'google-gemini' && { model: target?.name }),
        }
        if (!accepts(body) && !(path in UNACCEPTED))
          refused.push(`${path}: ${JSON.stringify(accepts.errors?.at(0))}`)
        const { upstreamBody } = target ? await send({ client, name: path, body }, target) : {}
        if (!isDeepStrictEqual(upstreamBody, body)) changed.push(path)
      }
    t.comment(`${members.length} members`)
    t.same(refused, [], 'our schema accepts them')
    t.same(changed, [], 'they pass unchanged')
  })

const used = new Set<object>()
for (const [client, target] of memberCells())
  t.test(`members of ${client} to ${target.format}: none is lost without a word`, async t => {
    const lostMembers = await walkMembers(client, target)
    const unexplained = lostMembers.flatMap(({ path, fault }) => {
      const member = `${client} ${path} -> ${target.format}`
      const exception = MEMBER_EXCEPTIONS.find(each => each.member.test(member))
      if (exception) used.add(exception)
      return exception && !fault ? [] : [[member, fault].filter(Boolean).join(': ')]
    })
    t.comment(`${lostMembers.length} lost as listed`)
    t.same(unexplained, [])
  })
t.test('members: each exception still occurs', t => {
  for (const exception of MEMBER_EXCEPTIONS) t.ok(used.has(exception), exception.reason)
  t.end()
})
