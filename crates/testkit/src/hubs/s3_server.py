# Starts moto on 127.0.0.1, makes a bucket and a user who may use it, and prints port and key as JSON. From then on every
# request must carry a valid signature.
import json
import os
import threading

SETUP_ACTIONS = 4
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(SETUP_ACTIONS)
os.environ.setdefault("AWS_ACCESS_KEY_ID", "setup")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "setup")

import boto3  # noqa: E402
from moto.moto_server.threaded_moto_server import ThreadedMotoServer  # noqa: E402

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
options = {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "eu-central-1"}
iam = boto3.client("iam", **options)
iam.create_user(UserName="anna")
key = iam.create_access_key(UserName="anna")["AccessKey"]
statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
iam.put_user_policy(UserName="anna", PolicyName="storage", PolicyDocument=document)
boto3.client("s3", **options).create_bucket(
    Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
)
print(json.dumps({"port": port, "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
threading.Event().wait()
