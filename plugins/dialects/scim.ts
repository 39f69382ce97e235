/** Errors of the provisioning endpoints: /scim/v2 (RFC 7644 §3.12). `type` of a row is its
 *  `scimType`; empty: none. */
import { list, object, text } from '../shapes.ts'
import type { Dialect } from './dialect.ts'

const type = (scimType: string) => ({ type: scimType })

export const scim: Dialect = {
  faults: {
    SCIM_EXISTS: type('uniqueness'),
    SCIM_FILTER: type('invalidFilter'),
    SCIM_PATH: type('invalidPath'),
    SCIM_TARGET: type('noTarget'),
    SCIM_VALUE: type('invalidValue'),
    SCIM_TOO_MANY: type('tooMany'),
  },
  statuses: {
    400: type('invalidSyntax'),
    401: type(''),
    403: type(''),
    404: type(''),
    405: type(''),
    409: type(''),
    413: type(''),
    429: type(''),
    500: type(''),
  },
  schema: object({ schemas: list(text), status: text, detail: text }, { scimType: text }),
  body: ({ message, status }, { type: scimType }) => ({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType !== '' && { scimType }),
    detail: message,
  }),
  headers: () => ({ 'content-type': 'application/scim+json' }),
}
