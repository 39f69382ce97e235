/** Names of a provider's objects in texts of requests. */
import t from 'tap'
import { nameIn } from '../../../plugins/resources/named-resources.ts'

const HOST = 'https://generativelanguage.googleapis.com/v1beta'
t.test('names of objects: alone, in URLs, percent-encoded', t => {
  for (const [text, name] of [
    ['files/a-b_9', 'files/a-b_9'],
    ['cachedContents/c1', 'cachedContents/c1'],
    [`${HOST}/files/a`, 'files/a'],
    [`${HOST}/files/a:download?alt=media`, 'files/a'],
    [`${HOST}/files/a#x`, 'files/a'],
    [`${HOST}/%66iles/a`, 'files/a'],
    [`${HOST}/files%2fa`, 'files/a'],
    [`${HOST}%2Fcached%43ontents%2F%61b`, 'cachedContents/ab'],
    [`${HOST}//files//a/`, 'files/a'],
    [`${HOST}/files/./a`, 'files/a'],
    [`${HOST}/files/../files/a`, 'files/a'],
    [`${HOST}/files/%zz`, undefined],
    [`${HOST}/files`, undefined],
    ['read files/a b', undefined],
    ['50 % of files/a.txt', undefined],
    [`x${' '.repeat(2_000)}/files/a`, undefined],
  ] as const)
    t.equal(nameIn(text), name, text)
  t.end()
})
