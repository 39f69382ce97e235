/** Documents that say what the endpoints offer (RFC 7643 §5 to §7). Pure. */
import type { Json } from '../../engine/plugin.ts'
import { type Attribute, type Attributes, GROUP, USER } from './attributes.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
export const SCHEMAS = { Users: `${CORE}:User`, Groups: `${CORE}:Group` } as const
type Endpoint = keyof typeof SCHEMAS
export const MOST_RESULTS = 200

const describe = (name: string, { kind, parts = [] }: Attribute, isRequired: boolean): Json => ({
  name,
  type: kind === 'text' ? 'string' : kind === 'boolean' ? 'boolean' : 'complex',
  multiValued: kind === 'list',
  required: isRequired,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: isRequired ? 'server' : 'none',
  ...(parts.length > 0 && {
    subAttributes: parts.map(part =>
      describe(part, { kind: part === 'primary' ? 'boolean' : 'text' }, false),
    ),
  }),
})
const schema = (name: string, id: string, attributes: Attributes, required: string): Json => ({
  id,
  name,
  attributes: Object.entries(attributes).map(([each, attribute]) =>
    describe(each, attribute, each === required),
  ),
})
const type = (name: string, endpoint: Endpoint): Json => ({
  schemas: [`${CORE}:ResourceType`],
  id: name,
  name,
  endpoint: `/${endpoint}`,
  schema: SCHEMAS[endpoint],
})
export const listOf = (
  resources: readonly Json[],
  { total = resources.length, startIndex = 1 } = {},
): Json => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})
const supported = (flag: boolean, more: object = {}): Json => ({ supported: flag, ...more })

export const DOCUMENTS = {
  config: {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: supported(true),
    bulk: supported(false, { maxOperations: 0, maxPayloadSize: 0 }),
    filter: supported(true, { maxResults: MOST_RESULTS }),
    changePassword: supported(false),
    sort: supported(false),
    etag: supported(false),
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token of the section scim',
      },
    ],
  },
  types: listOf([type('User', 'Users'), type('Group', 'Groups')]),
  schemas: listOf([
    schema('User', SCHEMAS.Users, USER, 'userName'),
    schema('Group', SCHEMAS.Groups, GROUP, 'displayName'),
  ]),
} as const satisfies Readonly<Record<string, Json>>
