/** Ids of stored files inside requests. */
import t from 'tap'
import { fileIdIn, mayNameFile, namesFile } from '../../../plugins/file-store/file-ids.ts'
import { makeFileId } from '../../../plugins/file-store/stored-file.ts'

const BASE = 'https://gateway.example'
const ID = makeFileId()

t.test('file ids: bytes may hold one where at least 24 digits follow', async t => {
  const mayName = (text: string) => mayNameFile(Buffer.from(text))
  t.ok(mayName(`{"file_id":"${ID}"}`))
  t.ok(mayName(`a file-name, file-${'a'.repeat(23)}g, file-${'a'.repeat(24)}`))
  t.notOk(mayName(`file-${'a'.repeat(23)}`), 'the end cuts it')
  t.notOk(mayName('a file- of file-6F2ksmvXxt4VdoqmHRw6kL and file_011CNha8iCJcU1wXNR6q4V8w'))
  t.notOk(mayName(''))
})

t.test('file ids: a reference is an id, or an address of the gateway that ends in one', async t => {
  for (const text of [ID, `files/${ID}`, `${BASE}/v1/files/${ID}`])
    t.equal(fileIdIn(text, BASE), ID, text)
  for (const text of [
    `see ${ID}`,
    `${ID}/content`,
    `https://other.example/v1/files/${ID}`,
    `${BASE}/files/${ID}`,
    `${BASE}/v1/files/${ID}?a=b`,
    'files/abc',
    'file-6F2ksmvXxt4VdoqmHRw6kL',
    `https://${'a'.repeat(700)}/v1/files/${ID}`,
  ])
    t.equal(fileIdIn(text, BASE), undefined, text.slice(0, 100))
})

t.test('file ids: a request names one in any text, however deep', async t => {
  const deep = JSON.parse(`${'['.repeat(50_000)}"${ID}"${']'.repeat(50_000)}`)
  t.ok(namesFile(deep, BASE))
  t.ok(namesFile({ a: [null, 1, { b: ID }] }, BASE))
  t.notOk(namesFile({ a: `the file ${ID}`, [ID]: 'b' }, BASE))
})
