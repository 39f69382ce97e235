/** `settings.files`: sizes, quotas, free space, and where the bytes are. */
import {
  duration,
  integer,
  number,
  object,
  objectOfDefaults,
  type RawOf,
  size,
  text,
} from '../../engine/config/shape.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { NO_QUOTA } from './statements.ts'

export const PURPOSES = ['assistants', 'fine-tune', 'vision', 'batch', 'user_data'] as const
export type Purpose = (typeof PURPOSES)[number]

const STORE = 'file:'
const ofPurpose = <const T extends string>(purpose: Purpose, value: T) =>
  size(`Size limit of files with the purpose ${purpose}.`, { default: value, examples: [value] })
const FILES = object(
  'Stored files: where they are, their sizes and quotas.',
  {
    store: text(
      '`file:` is the folder files/ of the data folder; `file:/srv/files` is another folder; `s3://BUCKET/PREFIX?endpoint=URL&region=R` is a bucket.',
      {
        pattern: '^(?:|file:(?:/.+)?|s3://.+)$',
        default: STORE,
        examples: ['file:/srv/files', 's3://files/tollgate?region=eu-central-1'],
      },
    ),
    access_key: text('Access key id for a bucket.', { examples: ['${AWS_ACCESS_KEY_ID}'] }),
    secret_key: text('Secret access key for a bucket.', {
      format: 'password',
      examples: ['${AWS_SECRET_ACCESS_KEY}'],
    }),
    sizes: objectOfDefaults(
      'Size limits by purpose.',
      {
        assistants: ofPurpose('assistants', '512MiB'),
        'fine-tune': ofPurpose('fine-tune', '1GiB'),
        vision: ofPurpose('vision', '20MiB'),
        batch: ofPurpose('batch', '200MiB'),
        user_data: ofPurpose('user_data', '512MiB'),
      } satisfies Readonly<Record<Purpose, unknown>>,
      { examples: [{ batch: '100MiB' }] },
    ),
    quota: objectOfDefaults(
      'The most that one account may store; without it there is no limit.',
      {
        files: integer('Number of files.', { minimum: 1, examples: [1000] }),
        bytes: size('Their size.', { examples: ['10GiB'] }),
      },
      { examples: [{ files: 1000, bytes: '10GiB' }] },
    ),
    inline: size('Bytes that the files which a request names may add to it, encoded as base64.', {
      default: '32MiB',
      examples: ['16MiB'],
    }),
    free: number('Percent of the file system that stay free: uploads are refused below.', {
      minimum: 0,
      maximum: 100,
      default: 5,
      examples: [5],
    }),
    keep_batch: duration(
      'Lifetime of files for batches whose upload sets none; other files stay.',
      { default: '30d', examples: ['30d'], pattern: '^[1-9][0-9]{0,3}(?:h|d)$' },
    ),
  },
  { examples: [{ sizes: { batch: '100MiB' }, quota: { bytes: '10GiB' } }] },
)
export const FILES_SETTINGS = FILES.schema

export type FileSettings = ReturnType<typeof fileSettingsOf>
export const fileSettingsOf = (host: Pick<HostBase, 'section'>) => {
  const section = host.section<{ readonly files?: RawOf<typeof FILES> }>('settings')
  const files = FILES.read(section.files ?? {})
  return {
    /** `file:` is a folder of the data folder, `file:/PATH` another one, `s3://…` a bucket. */
    store: files.store || STORE,
    /** Credentials of the bucket. */
    accessKey: files.access_key ?? '',
    secretKey: files.secret_key ?? '',
    /** Bytes of the largest file of each purpose. */
    sizes: files.sizes,
    quota: { ...NO_QUOTA, ...files.quota },
    /** Bytes that files may add to one request, encoded as base64. */
    inlineLimit: files.inline,
    /** Percent of the file system that stay free. */
    minFree: files.free,
    /** ms that a file for batches is kept, unless its upload sets another time. */
    batchLifetime: files.keep_batch,
  }
}
