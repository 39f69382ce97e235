/** Tasks that name stored files as images. */
import t from 'tap'
import { DirectoryStore } from '../../../plugins/file-store/directory-store.ts'
import { addFile } from '../../../plugins/file-store/statements.ts'
import { makeFileId } from '../../../plugins/file-store/stored-file.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { startTasks, statesOf } from './task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const IMAGE_URL = `data:image/png;base64,${PNG.toString('base64')}`
const QUOTA = { files: 10, bytes: 1_000 }

/** Returns the id of an image of this account, whose bytes are not there yet. */
const addImage = async ({ database }: Gateway, account: number): Promise<string> => {
  const id = makeFileId()
  const row = {
    id,
    account,
    maker: {},
    purpose: 'vision',
    filename: 'a.png',
    type: 'image/png',
    bytes: PNG.length,
    sha256: '',
    created: Date.now(),
    expires: undefined,
  }
  await database.write(addFile(row, QUOTA))
  return id
}
const addBytes = async ({ folder }: Gateway, id: string): Promise<void> => {
  const writer = await new DirectoryStore(`${folder}/files`, 0).create(id, 'test')
  await writer.write(PNG)
  await writer.commit()
}

const OTHER_URL = 'https://files.example/b.png'

for (const engine of ENGINES)
  t.test(
    `task images on ${engine}: are read at each submit, and fail a task once deleted`,
    async t => {
      const gateway = await startTasks(t, engine)
      const image = await addImage(gateway, 1)
      const others = await addImage(gateway, 2)
      t.match(await gateway.create({ images: [others] }), {
        status: 400,
        json: { reason: 'FieldInvalid', message: `'images[0]': no such file: ${others}` },
      })
      t.match((await gateway.create({ images: ['file-1'] })).json, { reason: 'FieldInvalid' })

      const waiting = await gateway.create({ images: [image, OTHER_URL] })
      t.same(waiting.json.images, [image, OTHER_URL])
      const isTried = "SELECT id FROM tasks WHERE failures > 0 AND state = 'accepted'"
      const untilTried = () =>
        eventually(async () => ((await gateway.rows(isTried)).length > 0 ? true : undefined))
      await untilTried()
      t.same(gateway.requests, [], 'the bytes of the file cannot be read')
      await addBytes(gateway, image)
      gateway.here.script = statesOf('success')
      await gateway.reach(String(waiting.json.task_id), 'success')
      const submit = gateway.requests.find(({ method }) => method === 'POST')
      t.same(submit?.body.images, [IMAGE_URL, OTHER_URL])

      gateway.here.script = ({ method }) => (method === 'POST' ? { status: 503 } : {})
      const spent = await gateway.spent()
      const { json } = await gateway.create({ images: [image] })
      await untilTried()
      await gateway.change(`DELETE FROM stored_files WHERE id = '${image}'`)
      const failed = await gateway.reach(String(json.task_id), 'failed')
      t.match(failed, { err_code: 'ImageDownloadFailure', credits: 0 })
      t.equal(await gateway.spent(), spent, 'it costs nothing')
      t.same(await gateway.findings(), [])
    },
  )
