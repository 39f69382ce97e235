/** Versions of the configuration in the log of actions: each once, also those that went live while
 *  nothing could be recorded; secrets of their texts are digests. */
import t from 'tap'
import { recordVersions, secretsIn } from '../../../plugins/action-log/versions.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { actionsIn, hostWith, verify } from '../../helpers/store/actions.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'key: sk-plain-text-1': ['sk-plain-text-1'],
  "up: { url: x, key: 'secret,with}signs', formats: [openai-chat] }": ['secret,with}signs'],
  'up: { key: [first-key-1, "second-key-2"], formats: [openai-chat] }': [
    'first-key-1',
    'second-key-2',
  ],
  'key:\n  - first-key-1\n  - second-key-2\nformats: [openai-chat]': [
    'first-key-1',
    'second-key-2',
  ],
  'webhook_secret: |\n  several-words\n\n  of-a-block\nname: not-a-secret': [
    'several-words',
    'of-a-block',
  ],
  'headers: { authorization: "Bearer abcdefgh1" }': ['abcdefgh1'],
  "key: '${OPENAI_API_KEY}'": [],
  "key: '${OPENAI_API_KEY:-default-key-1}'": ['default-key-1'],
  'limit: { key: 60/min, tokens: 1000000/min }\nmax_tokens: 100000000': [],
  'publish: { every: 1 }\nname: a-long-name-of-something': [],
}
t.test('secrets of a text: values of members with such names, however they are written', t => {
  for (const [text, secrets] of Object.entries(SECRETS)) {
    const words = secrets.flatMap(each => each.split(/[,}]/)).filter(({ length }) => length >= 8)
    t.same(secretsIn(text), words, text)
  }
  t.end()
})

const history = [1, 2, 3].map(version => ({
  version,
  hash: `h${version}`,
  time: '2026-11-29T00:00:00.000Z',
  isLive: version === 3,
  files: ['routes.yaml'],
}))
const TEXT = 'key: sk-plain-text-1\n'
const LONG = Array.from({ length: 1_000 }, (_, at) => `+line ${at} of a long change of a file`)
for (const { engine, database } of await startBoth(t, []))
  t.test(`versions on ${engine}: each is recorded once, by processes at once`, async t => {
    await openAccountsIn(database)
    await makeLedger(database)
    const shared = hostWith(database, { key: 'k'.repeat(32) })
    const hostAt = (live: number) => ({
      ...shared,
      config: { version: live, hash: `h${live}`, isTrial: false },
      gateway: {
        history: async () => history.slice(0, live),
        diff: async (from: number) => [
          { file: 'routes.yaml', lines: [`+from ${from}`, '-key: sk-plain-text-1', ...LONG] },
        ],
        files: async () => ({ 'routes.yaml': TEXT }),
      } as never,
    })
    await Promise.all([1, 2, 3, 4].map(() => recordVersions(hostAt(1))))
    const versions = async () => (await actionsIn(shared)).map(({ object }) => object)
    t.same(await versions(), ['configuration 1'])
    await Promise.all([1, 2, 3, 4].map(() => recordVersions(hostAt(3))))
    t.same(await versions(), ['configuration 3', 'configuration 2', 'configuration 1'])
    await recordVersions(hostAt(2))
    t.equal((await versions()).length, 3, 'a process that is behind adds nothing')
    const [{ after } = {}] = await actionsIn(shared)
    const text = JSON.stringify(after)
    t.match(text, /-key: sha256:[0-9a-f]{12}/)
    t.ok(text.length < 20_000, 'a diff is bounded')
    t.match(after, { diff: [{ omitted: Number }] })
    t.match(await verify(shared), { intact: true })
  })
